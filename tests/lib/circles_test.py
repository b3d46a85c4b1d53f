"""circles.py sees a circle, and which imports of Python make one. Run by tests/suite/style."""
import ast
import unittest

import circles

MODULE = """
from typing import TYPE_CHECKING
from . import _frames
from ._errors import Error
import os
if TYPE_CHECKING:
    from ._client import Client
else:
    from ._other import other
def plot():
    from ._plots import draw
"""


class Circles(unittest.TestCase):
    def test_a_chain_is_none(self):
        self.assertEqual(circles.cycles({"a": {"b": {"f"}}, "b": {"c": {"g"}}, "c": {}}), [])

    def test_two_files_and_a_longer_way_back(self):
        self.assertEqual(circles.cycles({"a": {"b": {"f"}}, "b": {"a": {"g"}}, "c": {}}), [["a", "b"]])
        long = {"a": {"b": {"f"}}, "b": {"c": {"f"}}, "c": {"a": {"f"}}, "d": {"a": {"f"}}}
        self.assertEqual(circles.cycles(long), [["a", "b", "c"]])

    def test_imports_of_a_function_count_and_those_for_readers_of_types_do_not(self):
        imports = circles.python_imports(ast.parse(MODULE), "tabella")
        self.assertEqual(set(imports), {"_frames", "_errors", "_other", "_plots"})

    def test_the_tree_has_modules_to_look_at(self):
        for folder, arrows in circles.modules():
            self.assertGreater(sum(map(len, arrows.values())), 10, folder)


if __name__ == "__main__":
    unittest.main()
