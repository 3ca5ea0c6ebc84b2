/* SPDX-License-Identifier: MIT
 *
 * In place of furo.js where that does not run: the button that changes the colours.
 */
const order = ["auto", "light", "dark"];

for (const button of document.getElementsByClassName("theme-toggle"))
  button.addEventListener("click", () => {
    const next = order[(order.indexOf(document.body.dataset.theme) + 1) % order.length];
    document.body.dataset.theme = next;
    localStorage.setItem("theme", next);
  });
