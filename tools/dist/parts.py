"""What the Debian package consists of, as SPDX 2.3 in JSON: each of its files, the packages of the libraries
that its programs are linked with, the server whose module it has, and others' files and data in it.

usage: parts.py DEB ROOT VERSION COMMIT, from the project's root; ROOT is the package unpacked. Versions come
from dpkg, licences from the packages' copyright files; where such a file is not machine-readable its text is
given as it is. Nothing is concluded. Others' files are those of THIRD_PARTY.md, checked by their digests."""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

# Debian's short names that are not SPDX's own
SPDX = {
    "expat": "MIT",
    "bsd-2-clause": "BSD-2-Clause",
    "bsd-3-clause": "BSD-3-Clause",
    "zlib": "Zlib",
    "curl": "curl",
    "cc0": "CC0-1.0",
    "data cc by 4.0": "CC-BY-4.0",
    "lgpl-2.1+": "LGPL-2.1-or-later",
    "lgpl-2+": "LGPL-2.0-or-later",
    "gpl-2": "GPL-2.0-only",
    "gpl-2+": "GPL-2.0-or-later",
}
LISTED = {"Apache-2.0", "MIT", "ISC", "PostgreSQL", "BSD-2-Clause", "BSD-3-Clause", "Zlib", "curl", "CC0-1.0"}
LISTED |= {"MPL-2.0", "CC-BY-4.0"}
# a package that is one folder of its source
FOLDER = {"libmariadb3": "libmariadb/*"}
WORD_LISTS = "services/inference/engine/lexicon/lexicon.md"


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def spdx_id(kind, name):
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


class Licences:
    """Licences that SPDX has no name for, each with its text."""

    def __init__(self):
        self.texts = {}

    def own(self, name, text):
        key = "LicenseRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)
        self.texts[key] = {"licenseId": key, "name": name, "extractedText": text.strip() or name}
        return key

    def named(self, name, package, text):
        """Debian's expression as SPDX's."""
        words = re.split(r"\s+(or|and)\s+", name, flags=re.I)
        said = [self.one(w, package, text) if i % 2 == 0 else w.upper() for i, w in enumerate(words)]
        return " ".join(said) if len(said) == 1 else f"({' '.join(said)})"

    def one(self, word, package, text):
        known = SPDX.get(word.lower(), word)
        if known in LISTED or known.startswith(("LGPL-2", "GPL-2.0-")):
            return known
        stanza = re.search(rf"(?ms)^License: *{re.escape(word)} *\n((?:[ \t].*\n?)+)", text)
        return self.own(f"{package}-{word}", stanza[1] if stanza else text)

    def of_package(self, package):
        """What covers the package's source, and a remark on what else is in it."""
        text = pathlib.Path(f"/usr/share/doc/{package}/copyright").read_text("utf-8", "replace")
        if not text.startswith("Format:"):
            return self.own(f"{package}-copyright", text), "Its copyright file, as Debian gives it."
        of = {}
        for stanza in re.split(r"\n\s*\n", text):
            files = re.search(r"(?m)^Files: *((?:.*\n?)(?:[ \t].*\n?)*)", stanza)
            name = re.search(r"(?m)^License: *(\S.*)$", stanza)
            if files and name:
                for pattern in files[1].split():
                    of.setdefault(pattern, name[1].strip())
        name = of.get(FOLDER.get(package, "*"))
        others = ", ".join(sorted({*of.values()} - {name}))
        remark = f"Other files of its source, by Debian's copyright file: {others}." if others else ""
        return (self.named(name, package, text), remark) if name else (self.own(package, text), remark)


def linked(root):
    """Debian's packages of the libraries that the programs name, and of the server."""
    programs = [p for p in root.rglob("*") if p.is_file() and p.read_bytes()[:4] == b"\x7fELF"]
    wanted = set(re.findall(r"NEEDED +(\S+)", run("objdump", "-p", *map(str, programs))))
    where = dict(re.findall(r"(?m)^\s*(\S+) \(.*x86-64.*\) => (\S+)$", run("/sbin/ldconfig", "-p")))
    if not where.keys() >= wanted:  # another processor's word in ldconfig's list
        where = dict(reversed(re.findall(r"(?m)^\s*(\S+) \(.*\) => (\S+)$", run("/sbin/ldconfig", "-p"))))
    packages = {"nginx"}
    for library in sorted(wanted):
        real = os.path.realpath(where[library])
        found = subprocess.run(["dpkg", "-S", real], capture_output=True, text=True).stdout
        if not found:  # /lib is a link to /usr/lib; dpkg knows the older name
            found = run("dpkg", "-S", real.replace("/usr/lib/", "/lib/", 1))
        packages.add(found.split(":")[0])
    return sorted(packages)


def debian_package(name, licences):
    form = "${Version}\t${Architecture}\t${source:Package}\t${source:Version}"
    version, arch, source, source_version = (
        run("dpkg-query", "-W", f"-f={form}\n", name).split("\n")[0].split("\t")
    )
    licence, remark = licences.of_package(name)
    purl = version.replace("+", "%2B").replace(":", "%3A").replace("~", "%7E")
    return {
        "SPDXID": spdx_id("deb", name),
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "sourceInfo": f"Debian source {source} {source_version}",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": licence,
        **({"licenseComments": remark} if remark else {}),
        "copyrightText": f"see /usr/share/doc/{name}/copyright of the package",
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": f"pkg:deb/debian/{name}@{purl}?arch={arch}",
            }
        ],
    }


def rows(text, heading):
    """The cells of the first table below a heading."""
    part = text.split(heading, 1)[1]
    table = [line for line in part.split("\n## ")[0].split("\n") if line.startswith("|")][2:]
    return [[c.strip() for c in line.strip("|").split("|")] for line in table]


def of_others(root, licences):
    """Others' files in the package, by THIRD_PARTY.md, and the word lists that are compiled in."""
    out = []
    for path, source, licence, digest in rows(
        pathlib.Path("THIRD_PARTY.md").read_text("utf-8"), "## Files of others"
    ):
        path, digest = path.strip("`"), digest.strip("`")
        shipped = root / "usr/share/tabella" / path.removeprefix("gateway/")
        if not path.startswith("gateway/console/"):
            continue  # tests only
        if hashlib.sha256(shipped.read_bytes()).hexdigest() != digest:
            raise SystemExit(f"parts.py: {path} is not what THIRD_PARTY.md says")
        name, version = re.fullmatch(r"(.+?)-(\d[\d.]*\d)\.js", shipped.name).groups()
        out.append(
            {
                "SPDXID": spdx_id("vendored", shipped.name),
                "name": name,
                "versionInfo": version,
                "packageFileName": f"./usr/share/tabella/{path.removeprefix('gateway/')}",
                "sourceInfo": source,
                "downloadLocation": "NOASSERTION",
                "filesAnalyzed": False,
                "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
                "licenseConcluded": "NOASSERTION",
                "licenseDeclared": " AND ".join(licence.split(", ")),
                "copyrightText": "NOASSERTION",
            }
        )
    for number, (files, source, licence) in enumerate(
        rows(pathlib.Path(WORD_LISTS).read_text("utf-8"), "# Word lists"), 1
    ):
        if licence == "as Tabella":
            continue
        out.append(
            {
                "SPDXID": f"SPDXRef-words-{number}",
                "name": f"word-lists-{number}",
                "sourceInfo": re.sub("`", "", f"{files}, compiled into inference and tabella; from {source}"),
                "downloadLocation": "NOASSERTION",
                "filesAnalyzed": False,
                "licenseConcluded": "NOASSERTION",
                "licenseDeclared": " AND ".join(
                    licences.one(w, "word-lists", "") for w in licence.split(", ")
                ),
                "copyrightText": "NOASSERTION",
            }
        )
    return out


def digests(data):
    return [
        {"algorithm": "SHA1", "checksumValue": hashlib.sha1(data).hexdigest()},
        {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()},
    ]


def document(deb, root, version, commit):
    licences, files = Licences(), []
    for path in sorted(p for p in root.rglob("*") if p.is_file() and root / "DEBIAN" not in p.parents):
        name = f"./{path.relative_to(root)}"
        files.append(
            {
                "SPDXID": spdx_id("file", name),
                "fileName": name,
                "checksums": digests(path.read_bytes()),
                "licenseConcluded": "NOASSERTION",
                "copyrightText": "NOASSERTION",
            }
        )
    sums = sorted(f["checksums"][0]["checksumValue"] for f in files)
    whole = deb.read_bytes()
    ours = {
        "SPDXID": "SPDXRef-tabella",
        "name": "tabella",
        "versionInfo": version,
        "packageFileName": deb.name,
        "sourceInfo": f"commit {commit}",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": True,
        "packageVerificationCode": {
            "packageVerificationCodeValue": hashlib.sha1("".join(sums).encode()).hexdigest()
        },
        "checksums": digests(whole),
        "primaryPackagePurpose": "INSTALL",
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "licenseInfoFromFiles": ["NOASSERTION"],
        "copyrightText": "NOASSERTION",
    }
    debian = [debian_package(p, licences) for p in linked(root)]
    others = of_others(root, licences)

    def relation(a, kind, b):
        return {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}

    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": deb.stem,
        "documentNamespace": f"https://spdx.org/spdxdocs/{deb.stem}-{hashlib.sha256(whole).hexdigest()}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))),
            "creators": ["Organization: Tabella", "Tool: tabella-parts"],
        },
        "packages": [ours, *debian, *others],
        "files": files,
        "hasExtractedLicensingInfos": [licences.texts[k] for k in sorted(licences.texts)],
        "relationships": [
            relation("SPDXRef-DOCUMENT", "DESCRIBES", ours["SPDXID"]),
            *(relation(ours["SPDXID"], "CONTAINS", f["SPDXID"]) for f in files),
            *(relation(ours["SPDXID"], "DYNAMIC_LINK", p["SPDXID"]) for p in debian if p["name"] != "nginx"),
            relation(ours["SPDXID"], "DEPENDS_ON", spdx_id("deb", "nginx")),
            *(relation(ours["SPDXID"], "CONTAINS", p["SPDXID"]) for p in others),
        ],
    }


if __name__ == "__main__":
    deb_file, unpacked, is_version, of_commit = sys.argv[1:]
    made = document(pathlib.Path(deb_file), pathlib.Path(unpacked), is_version, of_commit)
    json.dump(made, sys.stdout, indent=1)
    print()
