"use strict";
// Shows the entries that have all words and the state. Without scripts, the page shows all of them.
const words = document.getElementById("words"), state = document.getElementById("state");
const entries = [...document.querySelectorAll("tbody.entry")];
const texts = entries.map(e => e.textContent.toLowerCase());
function find() {
	const wanted = words.value.toLowerCase().split(/\s+/);
	let shown = 0;
	entries.forEach((e, i) => {
		e.hidden = state.value != "" && e.dataset.state != state.value || !wanted.every(w => texts[i].includes(w));
		shown += !e.hidden;
	});
	for (const group of document.querySelectorAll("tbody.group")) {
		let e = group.nextElementSibling;
		while (e && e.hidden && e.matches(".entry")) e = e.nextElementSibling;
		group.hidden = !(e && e.matches(".entry"));
	}
	document.getElementById("found").value = shown + " of " + entries.length;
}
words.addEventListener("input", find);
state.addEventListener("input", find);
document.getElementById("find").hidden = entries.length == 0;
