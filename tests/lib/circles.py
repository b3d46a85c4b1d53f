"""The files of one house (common, a service, a floor of the engine, a tool), in whatever of its rooms they
lie, use each other one way: no two .c files use functions or data of each other, nor does a longer chain of
them lead back to its beginning (decision 0256).

Read from the symbols of the objects of a build: an arrow goes from the file that lacks a symbol to the file
of the same house that defines it. A table of function pointers counts as a use of the functions in it.

The same holds for the modules of the Python client (what they import when they run; names of types for a
reader alone make no arrow) and for those of the console.

What a build has no objects of (programs of tools/ that `make build` leaves out) is not looked at. NGINX is
where nginx builds its module.

usage: circles.py [BUILD [NGINX]], default: build/release build/nginx/objs/addon/module. Prints the cycles and
exits 1 when there is one."""
import ast
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOMS = ("common", "services", "gateway", "tools")
ENGINE = Path("services/inference/engine")
# Symbols that make no arrow, each with the reason.
FRAMEWORK = {
    "ngx_http_tab_module": "nginx's record of the module, by which each of its files finds the configuration",
}


def symbols(objects):
    """object -> (what it defines, what it needs): names of functions and data that other files can see."""
    found, at = {}, None
    listing = subprocess.run(["nm", "-g", *objects], check=True, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        if line.endswith(":") and line[:-1] in objects:
            at = found[line[:-1]] = (set(), set())
        elif line.strip():
            kind, name = line.split()[-2:]
            if name not in FRAMEWORK:
                at[kind == "U"].add(name)
    return found


def object_of(path, build, nginx):
    """The object of a source: nginx builds those of its module in a folder of its own."""
    if path.parent == Path("gateway/module") and (nginx / path.with_suffix(".o").name).exists():
        return nginx / path.with_suffix(".o").name
    return build / path.with_suffix(".o")


def house(path):
    """The folder whose files, and those of its rooms, use each other one way."""
    if path.parts[0] == "common":
        return Path("common")
    for floors in (ENGINE, Path("services")):
        if floors in path.parents:
            inside = path.relative_to(floors).parts
            return floors / inside[0] if len(inside) > 1 else floors
    return path.parent


def folders(build, nginx):
    """house -> file -> the files of the same house that it uses, each with the names it uses there."""
    sources = {}
    for path in sorted(p for room in ROOMS for p in Path(room).rglob("*.c")):
        made = object_of(path, build, nginx)
        if "tests" not in path.parts and made.exists():
            sources[str(made)] = path
    if not sources:
        sys.exit(f"circles: no objects under {build}; `make build` makes them")
    of = symbols(list(sources))
    rooms = defaultdict(dict)
    for made, path in sources.items():
        folder = house(path)
        rooms[folder][str(path.relative_to(folder))] = of[made]
    for folder, files in rooms.items():
        arrows = {}
        for name, (_, needs) in files.items():
            uses = {other: needs & has for other, (has, _) in files.items() if other != name and needs & has}
            arrows[name] = uses
        yield folder, arrows


def python_imports(tree, package):
    """module of this package -> the names taken from it, but for those that only a reader of types needs."""
    found = defaultdict(set)
    todo = list(ast.iter_child_nodes(tree))
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            todo += node.orelse
            continue
        if isinstance(node, ast.ImportFrom):
            names = {a.name for a in node.names}
            if node.level == 1 and node.module:
                found[node.module] |= names
            elif node.level == 1 or node.module == package:
                for name in names:
                    found[name].add(name)
            elif (node.module or "").startswith(package + "."):
                found[node.module[len(package) + 1 :]] |= names
        todo += ast.iter_child_nodes(node)
    return found


def modules():
    """house -> module -> the modules of the same house that it imports, with the names."""
    package = Path("tools/python/tabella")
    arrows = {}
    for path in sorted(package.glob("*.py")):
        imports = python_imports(ast.parse(path.read_text(encoding="utf-8")), package.name)
        arrows[path.stem] = {m: names for m, names in imports.items() if m != path.stem}
    yield package, arrows
    console = Path("gateway/console")
    arrows = {}
    for path in sorted(console.rglob("*.js")):
        text = path.read_text(encoding="utf-8")
        found = re.findall(
            r"""^(?:import|export)\s[^;]*?["'](\.{1,2}/[^"']+)["']|import\(["'](\.[^"']+)""", text, re.M
        )
        uses = [(path.parent / (a or b)).resolve().relative_to(console.resolve()) for a, b in found]
        arrows[str(path.relative_to(console))] = {str(u): {"its exports"} for u in uses}
    yield console, arrows


def cycles(arrows):
    """The strongly connected components of more than one file (Tarjan 1972)."""
    index, low, stack, found = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in arrows.get(v, ()):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            group = stack[stack.index(v) :]
            del stack[stack.index(v) :]
            if len(group) > 1:
                found.append(sorted(group))

    for v in arrows:
        if v not in index:
            visit(v)
    return found


def main():
    bad = False
    given = sys.argv[1:] + ["build/release", "build/nginx/objs/addon/module"][len(sys.argv) - 1 :]
    for folder, arrows in [*folders(Path(given[0]), Path(given[1])), *modules()]:
        for group in cycles(arrows):
            bad = True
            print(f"{folder}: {', '.join(group)} use each other")
            for name in group:
                for other in sorted(set(arrows[name]) & set(group)):
                    print(f"    {name} -> {other}: {', '.join(sorted(arrows[name][other]))}")
    return bad


if __name__ == "__main__":
    sys.exit(main())
