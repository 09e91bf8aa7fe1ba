"""Makes a site of pages that are written for GitHub.

docs/README.md is the index, and its sections are the navigation. Links to files
outside of docs/ lead to the repository. Lists and anchors are as on GitHub.
"""

import os
import posixpath
import re

from mkdocs.exceptions import PluginError

REPOSITORY = "https://github.com/polex-dev/polex"
LINK = re.compile(r"(\]\()([^)#\s]+)")
ITEM = re.compile(r"( *)([-*]|\d+[.)])( +)")
FENCE = re.compile(r" *(```+)")


def slug(title, separator):
    """The anchor that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def on_config(config):
    config["mdx_configs"].setdefault("toc", {})["slugify"] = slug
    config["nav"] = navigation(config["docs_dir"])
    return config


def navigation(docs):
    """The sections of the index and the pages that each of them lists."""
    listed, nav = set(), [{"Home": "README.md"}]
    with open(os.path.join(docs, "README.md"), encoding="utf-8") as index:
        for line in index:
            if line.startswith("## "):
                nav.append({line[3:].strip(): []})
            for target in re.findall(r"\]\(([\w/-]+\.md)\)", line):
                if target not in listed:
                    listed.add(target)
                    list(nav[-1].values())[0].append(target)
    for folder, _, names in os.walk(docs):
        for name in names:
            page = posixpath.relpath(posixpath.join(folder, name), docs)
            if name.endswith(".md") and page != "README.md" and page not in listed:
                raise PluginError(f"docs/README.md does not list {page}")
    # A section of one page is that page.
    return [{k: v[0] if isinstance(v, list) and len(v) == 1 else v} for part in nav for k, v in part.items() if v]


def on_page_markdown(markdown, page, config, files):
    if page.is_homepage:
        page.meta["hide"] = ["navigation"]
    text = "\n".join(lists(markdown.split("\n")))
    parts = re.split(r"(?ms)(^ *```.*?^ *```)", text)
    for i in range(0, len(parts), 2):
        parts[i] = LINK.sub(lambda m: m[1] + outside(m[2], page, config), parts[i])
    return "".join(parts)


def on_page_content(html, page, config, files):
    """Lets a long key or metric in a table break between its parts, and keeps a short command or flag in one line."""
    html = re.sub(r"<td><code>[^<]{24,}</code>", lambda m: re.sub(r"(?<=[._{,])", "<wbr>", m[0]), html)
    return re.sub(r"<code>(?=[^<\s]{1,24}</code>)", '<code class="word">', html)


def outside(target, page, config):
    """A link that leaves docs/ as a link to the repository."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page.file.src_path), target))
    if ":" in target or path.startswith("docs/"):
        return target
    local = os.path.join(os.path.dirname(config["config_file_path"]), path)
    if not os.path.exists(local):
        raise PluginError(f"{page.file.src_path}: there is no {path}")
    return f"{REPOSITORY}/{'tree' if os.path.isdir(local) else 'blob'}/main/{path}"


def lists(lines):
    """The lines with what a list holds indented by four, as Python-Markdown expects it."""
    inside, fence, before = [], "", ""  # the indents of the open items
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        if fence:
            if line.strip() == fence:
                fence = ""
            yield shifted(line, inside)
            continue
        if line.strip().startswith("<!--") and line.strip().endswith("-->"):
            continue
        if line.strip():
            while inside and indent < inside[-1] and (before == "" or ITEM.match(line) or FENCE.match(line)):
                inside.pop()
        item = ITEM.match(line)
        if item and before and not inside and not ITEM.match(before):
            yield ""
        if opened := FENCE.match(line):
            fence = opened[1]
        yield shifted(line, inside)
        if item:
            inside.append(item.end())
        before = line.strip()
        if not inside and before == "":
            continue


def shifted(line, inside):
    if not line.strip():
        return ""
    old = inside[-1] if inside else 0
    return " " * (4 * len(inside)) + (line[old:] if line[:old].strip() == "" else line.lstrip(" "))
