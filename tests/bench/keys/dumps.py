"""Reads tables and their declared foreign keys out of SQL dumps: CREATE TABLE, ALTER TABLE, INSERT and COPY
of PostgreSQL, MySQL, SQLite, SQL Server and Oracle.  No more of the language than sample databases use."""

import re

TOKEN = re.compile(
    r"""(?P<skip>\s+|--[^\n]*|/\*.*?\*/|\#[^\n]*(?=\n))
      | (?P<string>[NnEe]?'(?:[^'\\]|''|\\.)*')
      | (?P<name>"[^"]*"|`[^`]*`|\[[A-Za-z_][^\]\n]*\])
      | (?P<number>-?\d+\.?\d*(?:[eE][-+]?\d+)?|-?\.\d+)
      | (?P<word>[A-Za-z_$@\#][\w$@\#]*)
      | (?P<mark>.)""",
    re.S | re.X,
)
COPY = re.compile(
    r"^COPY\s+([^\s(]+)\s*\(([^)]*)\)\s+FROM\s+(?:stdin;\n(.*?)^\\\.$|'[^']*/([^/']+)')", re.S | re.M
)
ESCAPE = {"n": "\n", "t": "\t", "r": "\r", "0": "", "b": "", "Z": ""}


def plain(name):
    """A name without quotes and schema, in lower case."""
    return name.strip().split(".")[-1].strip('"`[] ').lower()


class Dump:
    """tables: name -> list of columns; rows: name -> list of rows (None is null); keys: foreign keys as
    (child, columns, parent, columns); primary: name -> columns."""

    def __init__(self, backslash=False):
        self.tables, self.rows, self.keys, self.primary = {}, {}, [], {}
        self.backslash = backslash  # MySQL: \' inside of strings

    def read(self, text, beside=None):
        """beside: reads the file of that name, which COPY names."""
        text = text.replace("\r\n", "\n")

        def copied(m):
            table, columns = plain(m.group(1)), [plain(c) for c in m.group(2).split(",")]
            body = m.group(3)
            if body is None:
                body = beside(m.group(4)) if beside else ""
            self.tables.setdefault(table, columns)
            for line in body.split("\n"):
                if line and line != "\\.":
                    cells = [None if c == "\\N" else re.sub(r"\\(.)", r"\1", c) for c in line.split("\t")]
                    self.add(table, columns, cells)
            return "\n"

        text = COPY.sub(copied, text)
        text = re.sub(r"^GO\s*$", ";", text, flags=re.M | re.I)
        self.tok = [(m.lastgroup, m.group()) for m in TOKEN.finditer(text) if m.lastgroup != "skip"]
        self.at = 0
        while self.at < len(self.tok):
            word = self.word()
            self.at += 1
            if word == "CREATE" and self.word() in ("TABLE", "TEMPORARY", "GLOBAL", "UNLOGGED"):
                self.create()
            elif word == "ALTER" and self.word() == "TABLE":
                self.alter()
            elif word == "INSERT" and self.at < len(self.tok) and self.tok[self.at][0] in ("word", "name"):
                self.insert()

    def word(self, ahead=0):
        i = self.at + ahead
        return self.tok[i][1].upper() if i < len(self.tok) and self.tok[i][0] in ("word", "mark") else ""

    def name(self):
        """A possibly qualified name."""
        last = plain(self.tok[self.at][1])
        self.at += 1
        while self.word() == "." and self.at + 1 < len(self.tok):
            last = plain(self.tok[self.at + 1][1])
            self.at += 2
        return last

    def names(self):
        """( a, b DESC, c(10) )"""
        out, depth, fresh = [], 0, True
        while self.at < len(self.tok):
            kind, text = self.tok[self.at]
            self.at += 1
            if text == "(" and kind == "mark":
                depth += 1
            elif text == ")" and kind == "mark":
                depth -= 1
                if depth == 0:
                    break
            elif text == "," and depth == 1:
                fresh = True
            elif depth == 1 and fresh and kind in ("word", "name", "string"):
                out.append(plain(text.strip("'")))
                fresh = False
        return out

    def references(self, table, columns):
        """REFERENCES parent (columns)?"""
        self.at += 1
        parent = self.name()
        theirs = self.names() if self.word() == "(" else None
        self.keys.append((table, columns, parent, theirs))

    def create(self):
        while self.word() in ("TABLE", "TEMPORARY", "GLOBAL", "UNLOGGED", "IF", "NOT", "EXISTS"):
            self.at += 1
        table = self.name()
        if self.word() != "(":
            return
        self.at += 1
        columns, depth, fresh, column = [], 1, True, None
        while self.at < len(self.tok) and depth > 0:
            kind, text = self.tok[self.at]
            word = text.upper() if kind == "word" else ""
            if kind == "mark" and text in "()":
                depth += 1 if text == "(" else -1
                self.at += 1
            elif depth == 1 and text == "," and kind == "mark":
                fresh, column = True, None
                self.at += 1
            elif word == "FOREIGN":
                self.at += 2
                if self.word() != "(":
                    self.name()
                mine = self.names()
                if self.word() == "REFERENCES":
                    self.references(table, mine)
                fresh = False
            elif word == "REFERENCES" and column is not None:
                self.references(table, [column])
            elif word == "PRIMARY":
                self.at += 2
                while self.word() in ("CLUSTERED", "NONCLUSTERED"):
                    self.at += 1
                if self.word() == "(" and column is None:
                    self.primary[table] = self.names()
                elif column is not None:
                    self.primary[table] = [column]
                fresh = False
            elif fresh and depth == 1 and kind in ("word", "name", "string"):
                if word in (
                    "CONSTRAINT",
                    "UNIQUE",
                    "KEY",
                    "INDEX",
                    "CHECK",
                    "EXCLUDE",
                    "FULLTEXT",
                    "SPATIAL",
                ):
                    column = None
                else:
                    column = plain(text.strip("'"))
                    columns.append(column)
                fresh = False
                self.at += 1
            else:
                self.at += 1
        self.tables[table] = columns

    def alter(self):
        self.at += 1
        while self.word() in ("ONLY", "IF", "EXISTS"):
            self.at += 1
        table = self.name()
        while self.at < len(self.tok) and self.word() not in (";", "CREATE", "INSERT", "ALTER"):
            if self.word() == "FOREIGN":
                self.at += 2
                if self.word() != "(":
                    self.name()
                mine = self.names()
                if self.word() == "REFERENCES":
                    self.references(table, mine)
            elif self.word() == "PRIMARY":
                self.at += 2
                while self.word() in ("CLUSTERED", "NONCLUSTERED"):
                    self.at += 1
                if self.word() == "(":
                    self.primary[table] = self.names()
            else:
                self.at += 1

    def insert(self):
        while self.word() in ("INTO", "IGNORE"):
            self.at += 1
        table = self.name()
        columns = self.names() if self.word() == "(" else self.tables.get(table)
        while self.word() in ("OVERRIDING", "USER", "SYSTEM", "VALUE"):
            self.at += 1
        if self.word() != "VALUES" or columns is None:
            return
        self.at += 1
        while self.word() == "(":
            self.at += 1
            cells, parts, depth = [], [], 1
            while self.at < len(self.tok) and depth > 0:
                kind, text = self.tok[self.at]
                self.at += 1
                if kind == "mark" and text == "(":
                    depth += 1
                elif kind == "mark" and text == ")":
                    depth -= 1
                elif kind == "mark" and text == "," and depth == 1:
                    cells.append(self.value(parts))
                    parts = []
                    continue
                if depth > 0:
                    parts.append((kind, text))
            cells.append(self.value(parts))
            self.tables.setdefault(table, columns)
            self.add(table, columns, cells)
            if self.word() == ",":
                self.at += 1

    def value(self, parts):
        for kind, text in parts:
            if kind == "string":
                text = text[text.index("'") + 1 : -1].replace("''", "'")
                if self.backslash:
                    text = re.sub(r"\\(.)", lambda m: ESCAPE.get(m.group(1), m.group(1)), text, flags=re.S)
                return text
        text = "".join(t for _, t in parts)
        return None if text.upper() in ("NULL", "DEFAULT", "") else text

    def add(self, table, columns, cells):
        have = self.tables[table]
        if len(cells) == len(columns) - 1:  # SQL Server counts the first column up by itself
            cells = [str(len(self.rows.get(table, [])) + 1)] + cells
        for c in columns:
            if c not in have:
                have.append(c)
        row = dict(zip(columns, cells))
        self.rows.setdefault(table, []).append(row)

    def matrix(self, table):
        have = self.tables[table]
        return have, [[r.get(c) for c in have] for r in self.rows.get(table, [])]

    def truth(self):
        """The declared keys between tables with rows, columns filled in from primary keys."""
        out = []
        for child, mine, parent, theirs in self.keys:
            theirs = theirs or self.primary.get(parent) or (mine if parent in self.tables else None)
            if theirs is None or len(theirs) != len(mine) or parent not in self.tables:
                continue
            if all(c in self.tables.get(child, []) for c in mine) and all(
                c in self.tables[parent] for c in theirs
            ):
                out.append((child, tuple(mine), parent, tuple(theirs)))
        return sorted(set(out))
