"""tidy.py finds each kind of thing that it is to find, and nothing else. Run by tests/suite/style."""
import tempfile
import unittest
from pathlib import Path

import tidy

SHORT = "int f(void)\n{\n    return 0;\n}\n"


def lines_of(n):
    return "void long_one(int x)\n{\n" + "    x++;\n" * (n - 2) + "}\n"


class Tidy(unittest.TestCase):
    def found(self, files):
        """What is found in a tree of these files, without what is said of exceptions nobody needs here."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            found = tidy.findings(root, sorted(map(Path, files)))
            return [f for f in found if not f.endswith("needs no exception any more")]

    def only(self, files, *words):
        found = self.found(files)
        self.assertEqual(len(found), 1, found)
        for word in words:
            self.assertIn(word, found[0])

    def test_what_is_tidy(self):
        self.assertEqual(self.found({"a.c": SHORT, "b.md": "# B\n\n[a](a.c)\n"}), [])

    def test_a_function_at_the_limit_and_one_beyond(self):
        self.assertEqual(self.found({"a.c": lines_of(70)}), [])
        self.only({"a.c": lines_of(71)}, "a.c:1", "long_one", "71 lines")

    def test_a_head_of_several_lines(self):
        text = lines_of(80).replace("(int x)", "(int x,\n              int y)")
        self.only({"a.c": text}, "long_one", "80 lines")

    def test_tables_are_no_functions(self):
        self.assertEqual(self.found({"a.c": "int table[] = {\n" + "    1,\n" * 90 + "};\n"}), [])

    def test_a_long_file(self):
        self.only({"a.py": "x = 1\n" * 701}, "702 lines")

    def test_a_full_folder(self):
        many = {f"a/f{i}.txt": "" for i in range(30)}
        self.assertEqual(self.found(many), [])
        self.only({**many, "a/more.txt": ""}, "a: 31 files")
        self.assertEqual(self.found({f"tests/fuzz/corpus/x/f{i}": "" for i in range(40)}), [])

    def test_a_large_file(self):
        self.only({"a.bin": "x" * (tidy.BLOB + 1)}, "bytes")
        self.assertEqual(self.found({"a.model": "x" * (tidy.BLOB + 1)}), [])

    def test_what_an_option_left(self):
        self.only({"--help/a.csv": ""}, "--help/a.csv")
        self.only({"a b.csv": ""}, "a b.csv")
        self.assertEqual(self.found({"a-b/c-.csv": ""}), [])

    def test_titles(self):
        self.only({"a.md": "no title\n"}, "0 titles")
        self.only({"a.md": "# One\n\n# Two\n"}, "2 titles")
        self.assertEqual(self.found({"a.md": "# One\n\n```\n# a comment of a shell\n```\n"}), [])

    def test_per_cent_signs(self):
        self.only({"a.md": "# A\n\none\n12 % of two\n"}, "a.md:4", "per cent sign")
        good = "# A\n\n12% of two, `7 % 3`\n\n    awk '{print 7 % 3}'\n\n```\n5 % x\n```\n"
        self.assertEqual(self.found({"a.md": good, "CHANGELOG.md": "# C\n\n12 % of\n"}), [])

    def test_links(self):
        self.only({"a.md": "# A\n\n[gone](b.md)\n"}, "no b.md")
        self.only({"a.md": "# A\n\n[b](b.md#other)\n", "b.md": "# B\n"}, "no heading b.md#other")
        self.only({"a.md": "# A\n\n[below](#none)\n"}, "no heading #none")
        good = {"x/a.md": "# A\n\n[b](../b.md#a-heading-of-b)\n", "b.md": "# B\n\n## A heading, of `B`\n"}
        self.assertEqual(self.found(good), [])

    def test_a_declaration_that_its_own_file_alone_uses(self):
        a = '#include "a.h"\nint lone(void)\n{\n    return 1;\n}\nint two(void)\n{\n    return lone();\n}\n'
        b = '#include "a.h"\nint b = 0;\nvoid use(void)\n{\n    b = two();\n}\n'
        files = {"a.h": "int lone(void);\nint two(void);\n", "a.c": a, "b.c": b}
        self.only(files, "a.h", "lone")
        files["b.c"] = b + "/* lone is named in a comment only */\n"
        self.only(files, "lone")
        files["b.c"] = b.replace("two()", "two() + lone()")
        self.assertEqual(self.found(files), [])

    def test_what_macros_of_a_header_need(self):
        a = '#include "a.h"\nvoid put(int x)\n{\n}\nvoid thing_free(void *p)\n{\n}\n'
        head = "void put(int x);\n#define PUT(x) put(x)\nvoid thing_free(void *p);\nTAB_DEFINE_AUTO(thing)\n"
        self.assertEqual(self.found({"a.h": head, "a.c": a}), [])

    def test_exceptions_that_nobody_needs(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a.c").write_text(SHORT)
            found = list(tidy.findings(Path(folder), [Path("a.c")]))
        for name in tidy.FULL:
            self.assertIn(f"tidy.py: {name} needs no exception any more", found)


if __name__ == "__main__":
    unittest.main()
