"""Draws the Mermaid flowcharts of the pages with Graphviz.

The theme would fetch Mermaid from another host. A flowchart in a form that this file
does not know stops the build.
"""

import html
import re
import subprocess

from mkdocs.exceptions import PluginError

SHAPES = [  # opening, closing, Graphviz's name
    ("([", "])", 'box, style="rounded"'),
    ("[(", ")]", "cylinder"),
    ("[/", "/]", "parallelogram"),
    ("[", "]", "box"),
    ("{", "}", "diamond"),
]
EDGE = re.compile(r"\s*(?:-->|--\s(?P<solid>.+?)\s-->|-\.\s(?P<dotted>.+?)\s\.->)\s*")
DEFAULTS = 'bgcolor=transparent; ranksep=0.35; labeljust=l; fontname="sans-serif"; node [shape=box, fontname="sans-serif"]; edge [fontname="sans-serif", fontsize=11]'


def on_page_markdown(markdown, page, config, files):
    def draw(block):
        try:
            return svg(block[1])
        except (ValueError, subprocess.CalledProcessError) as err:
            raise PluginError(f"{page.file.src_path}: the diagram: {err}")

    return re.sub(r"(?ms)^```mermaid\n(.*?)^```$", draw, markdown)


def svg(flowchart):
    out = subprocess.run(["dot", "-Tsvg"], input=dot(flowchart), capture_output=True, check=True, text=True).stdout
    out = re.sub(r"(?s)^.*?(?=<svg)|<!--.*?-->|<title>.*?</title>|\n+", " ", out).strip()
    for colour in ("black", "#000000"):
        out = out.replace(f'"{colour}"', '"currentColor"')
    out = re.sub(r"<text ", '<text fill="currentColor" ', out)
    # A narrow page shrinks it to a half, and scrolls beyond.
    half = int(re.search(r'width="(\d+)pt"', out)[1]) // 2
    out = out.replace("<svg ", f'<svg role="img" aria-label="diagram" style="min-width: {half}pt" ', 1)
    return f'<div class="diagram">{out}</div>'


def dot(flowchart):
    head, *lines = flowchart.strip().split("\n")
    if head not in ("flowchart LR", "flowchart TD"):
        raise ValueError(head)
    out = ["digraph {", DEFAULTS]  # from top to bottom: a page is narrow
    for line in lines:
        for statement in line.split(";"):
            statement = statement.strip()
            if group := re.fullmatch(r"subgraph (\w+)(?: \[(.+)\])?", statement):
                out.append(f"subgraph cluster_{group[1]} {{ label={quoted(group[2] or group[1])}")
            elif statement == "end":
                out.append("}")
            elif statement:
                out += chain(statement)
    return "\n".join(out + ["}"])


def chain(statement):
    """The nodes and edges of one statement, such as a[x] -- label --> b."""
    out, before, label = [], "", ""
    while True:
        name = re.match(r"\w+", statement)
        if not name:
            raise ValueError(statement)
        statement = statement[name.end():]
        for opening, closing, shape in SHAPES:
            if statement.startswith(opening) and closing in statement:
                text, statement = statement[len(opening):].split(closing, 1)
                out.append(f'"{name[0]}" [label={quoted(text)}, shape={shape}]')
                break
        else:
            out.append(f'"{name[0]}"')
        if before:
            out.append(f'"{before}" -> "{name[0]}" [{label}]')
        if not statement:
            return out
        edge = EDGE.match(statement)
        if not edge:
            raise ValueError(statement)
        statement, before = statement[edge.end():], name[0]
        text = edge["solid"] or edge["dotted"]
        label = (f"label={quoted(text, pad='&nbsp;')}" if text else "") + (" style=dashed" if edge["dotted"] else "")


def quoted(text, pad=""):
    """A label of Graphviz. The padding keeps its lines off the edge."""
    text = html.unescape(text.strip('"')).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + pad + re.sub(r"<br\s*/?>", rf"{pad}\\n{pad}", text) + pad + '"'
