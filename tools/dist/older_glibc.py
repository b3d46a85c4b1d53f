"""A shared library that asks for no newer glibc than this one (decision 0520).

A program is bound to the newest version of each symbol that the glibc has on which it is linked: on a new
one pthread_create@GLIBC_2.34, although GLIBC_2.2.5 is there with the same meaning. Here each such symbol is
bound to its newest version up to `least`, by changing the tables that say so (System V ABI; "ELF Symbol
Versioning", Drepper):

    .dynsym[i]  <->  .gnu.version[i] = k  ->  .gnu.version_r: file, k, hash, name in .dynstr

A symbol that is younger itself is asked for without a version, and a library of our own has it where glibc
has not (tools/library/older.c)."""

import re
import struct
import subprocess

DYNSYM, VERSYM, VERNEED = 11, 0x6FFFFFFF, 0x6FFFFFFE
GLOBAL = 1  # the index of a symbol without a version


def newer(version, least):
    """Whether GLIBC_2.N is beyond."""
    found = re.fullmatch(r"GLIBC_2\.(\d+)(\.\d+)?", version)
    return found is not None and int(found[1]) > least


def offered(path):
    """{symbol: its versions} of a library of glibc."""
    told = subprocess.run(["objdump", "-T", path], check=True, capture_output=True, text=True).stdout
    found = {}
    for version, name in re.findall(r"\s\(?(GLIBC_2[\d.]+)\)?\s+(\w+)$", told, re.M):
        found.setdefault(name, []).append(version)
    return found


def defined(path):
    """Names that a library has for others."""
    told = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True, text=True)
    return {line.split()[-1] for line in told.stdout.splitlines()}


def age(version):
    return [int(n) for n in version[len("GLIBC_") :].split(".")]


def elf_hash(name):
    h = 0
    for c in name.encode():
        h = (h << 4) + c
        h = (h ^ (h & 0xF0000000) >> 24) & 0x0FFFFFFF
    return h


class Library:
    """The tables of a 64-bit little-endian shared library."""

    def __init__(self, path):
        self.path, self.b = path, bytearray(open(path, "rb").read())
        assert self.b[:6] == b"\x7fELF\x02\x01", path
        at, (size, n) = self.read("Q", 40)[0], self.read("HH", 58)
        heads = [self.read("IIQQQQIIQQ", at + i * size) for i in range(n)]
        by_type = {h[1]: h for h in heads}
        self.symbols, self.versions = by_type[DYNSYM], by_type[VERSYM]
        self.needs, self.texts = by_type[VERNEED], heads[by_type[DYNSYM][6]]

    def read(self, form, at):
        return struct.unpack_from("<" + form, self.b, at)

    def text(self, at):
        start = self.texts[4] + at
        return self.b[start : self.b.index(b"\0", start)].decode()

    def needed(self):
        """Each needed version as [index, file, version, where its entry is], by file."""
        found, at = [], self.needs[4]
        while True:
            _, _, file, first, step = self.read("HHIII", at)
            entry = at + first
            while True:
                _, _, index, name, more = self.read("IHHII", entry)
                found.append([index & 0x7FFF, self.text(file), self.text(name), entry])
                if more == 0:
                    break
                entry += more
            if step == 0:
                return found
            at += step

    def rename(self, entry, version):
        """The entry asks for this version: by its name where the library has it, else by writing
        over the name
        of the one that goes."""
        start, size = self.texts[4], self.texts[5]
        at = self.b.find(version.encode() + b"\0", start, start + size)
        if at < 0:
            at = start + self.read("IHHII", entry)[3]
            was = len(self.text(at - start))
            assert len(version) <= was, version
            self.b[at : at + was] = version.encode().ljust(was, b"\0")
        struct.pack_into("<I", self.b, entry, elf_hash(version))
        struct.pack_into("<I", self.b, entry + 8, at - start)

    def drop(self, gone):
        """Takes these entries out of their lists."""
        at = self.needs[4]
        while True:
            _, _, _, first, step = self.read("HHIII", at)
            kept, entry = [], at + first
            while True:
                more = self.read("IHHII", entry)[4]
                if entry not in gone:
                    kept.append(entry)
                if more == 0:
                    break
                entry += more
            assert kept, "a file of which only newer versions are asked"
            struct.pack_into("<H", self.b, at + 2, len(kept))
            struct.pack_into("<I", self.b, at + 8, kept[0] - at)
            for one, following in zip(kept, [*kept[1:], None]):
                struct.pack_into("<I", self.b, one + 12, 0 if following is None else following - one)
            if step == 0:
                return
            at += step


def rebind(path, least, folder):
    """Binds the symbols of the library at `path` to versions up to GLIBC_2.`least`; glibc's libraries lie in
    `folder`. Gives the names of those symbols that an older one lacks."""
    x, lacking, have = Library(path), set(), {}
    entries = x.needed()
    beyond = [e for e in entries if newer(e[2], least)]
    spare = {f: [e for e in beyond if e[1] == f] for f in {e[1] for e in beyond}}
    for i in range(x.symbols[5] // 24):
        where = x.versions[4] + 2 * i
        index = x.read("H", where)[0] & 0x7FFF
        entry = next((e for e in beyond if e[0] == index), None)
        if entry is None:
            continue
        file, name = entry[1], x.text(x.read("I", x.symbols[4] + 24 * i)[0])
        if file not in have:
            have[file] = offered(f"{folder}/{file}")
        older = [v for v in have[file].get(name, []) if not newer(v, least)]
        if not older:
            lacking.add(name)
            struct.pack_into("<H", x.b, where, GLOBAL)
            continue
        wanted = max(older, key=age)
        found = next((e for e in entries if e[1:3] == [file, wanted]), None)
        if found is None:  # an entry of its own, in the place of one that goes
            taken = spare[file].pop()
            found = [max(e[0] for e in entries) + 1, file, wanted, taken[3]]
            entries.append(found)
        struct.pack_into("<H", x.b, where, found[0])
    kept = [e for e in entries if e[0] not in {b[0] for b in beyond} and e[3] in {b[3] for b in beyond}]
    for index, _, version, entry in kept:
        x.rename(entry, version)
        struct.pack_into("<H", x.b, entry + 6, index)
    x.drop({e[3] for e in beyond} - {e[3] for e in kept})
    with open(path, "wb") as f:
        f.write(x.b)
    again = Library(path).needed()
    assert not any(newer(e[2], least) for e in again) and all(e[3] in {k[3] for k in again} for e in kept)
    return lacking
