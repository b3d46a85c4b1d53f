"""architecture.py finds a step that is not there, and one that does not lead to the next. Run by
tests/suite/style."""
import tempfile
import unittest
from pathlib import Path

import architecture

A = """static void helper(int x)
{
    deliver(x, "Method");
}

int ask(int x)
{
    helper(x);
}
"""
B = """static const method methods[] = { { "Method", answer } };
void answer(void)
{
}
"""


class Ways(unittest.TestCase):
    def found(self, page):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "docs").mkdir()
            (root / "a.c").write_text(A)
            (root / "b.c").write_text(B)
            (root / "docs/architecture.md").write_text(page)
            steps = architecture.steps(page.split("\n"))
            return [f for of in steps for f in architecture.way(root, "page", of)]

    def test_a_way_that_the_code_has(self):
        page = (
            "1. `ask` of [a.c](../a.c)\n"
            "2. `helper` of [a.c](../a.c): over a\n   call, by\n   `Method`\n"
            "3. `methods` of [b.c](../b.c)\n4. `answer` of [b.c](../b.c)\n"
        )
        self.assertEqual(self.found(page), [])

    def test_indented_steps_are_called_by_the_one_above(self):
        page = "1. `ask` of [a.c](../a.c)\n   1. `helper` of [a.c](../a.c)\n"
        self.assertEqual(self.found(page), [])
        page += "   2. `answer` of [b.c](../b.c)\n"
        self.assertIn("does not lead to answer", self.found(page)[0])

    def test_a_function_that_went(self):
        self.assertIn("defines no gone", self.found("1. `gone` of [a.c](../a.c)\n")[0])

    def test_a_file_that_went(self):
        self.assertIn("no file c.c", self.found("1. `ask` of [c.c](../c.c)\n")[0])

    def test_a_call_that_went(self):
        page = "1. `helper` of [a.c](../a.c)\n2. `answer` of [b.c](../b.c)\n"
        self.assertIn("no call", self.found(page)[0])

    def test_a_word_that_went(self):
        page = "1. `helper` of [a.c](../a.c), by `Other`\n2. `answer` of [b.c](../b.c)\n"
        self.assertIn("`Other`", self.found(page)[0])

    def test_an_item_of_another_form(self):
        self.assertIn("no step", self.found("1. ask of a.c\n")[0])

    def test_lists_that_begin_anew_are_other_ways(self):
        page = "1. `helper` of [a.c](../a.c)\n\nThen:\n\n1. `answer` of [b.c](../b.c)\n"
        self.assertEqual(self.found(page), [])


if __name__ == "__main__":
    unittest.main()
