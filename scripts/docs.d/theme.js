/* SPDX-License-Identifier: MIT
 *
 * In place of furo.js where that does not run: the button that changes the colours.  Its first press changes
 * what is seen, whichever colours the reader's system has.
 */
const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
const order = dark ? ["auto", "light", "dark"] : ["auto", "dark", "light"];

document.documentElement.classList.remove("no-js"); // furo hides the button from who has no script
for (const button of document.getElementsByClassName("theme-toggle"))
  button.addEventListener("click", () => {
    const next = order[(order.indexOf(document.body.dataset.theme) + 1) % order.length];
    document.body.dataset.theme = next;
    localStorage.setItem("theme", next);
  });
