/* SPDX-License-Identifier: MIT
 *
 * Does nothing, as true(1), which has the word size of the system.
 */
int main(void) {
    return 0;
}
