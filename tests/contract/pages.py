"""Every public function has a page in man/man3, its own or a link to one that documents it with the header's signature, and every
program one in man/man1; the pages are free of mandoc's warnings and refer to pages that exist."""
import re
import shutil

from project import BUILD, HEADER, SOURCE, code_of, finish, run

MAN = SOURCE / "man"


def signature(result, name, arguments):
    return re.sub(r"\s+", " ", f"{result}{name}({', '.join(arguments)})".replace("* ", "*")).strip()


def header_signatures():
    found = re.findall(r"SMDDP_EXPORT\s+([^;(]*?)\b(smddp_\w+)\s*\(([^)]*)\);", code_of(HEADER))
    return {name: signature(result, name, [one.strip() for one in arguments.split(",")]) for result, name, arguments in found}


def page_signatures(text):
    """The functions of a page's synopsis: .Ft, then .Fn or .Fo and .Fa lines."""
    for result, name, body in re.findall(r"^\.Ft (.*)\n\.F[on] (\w+)((?: .*)?(?:\n\.Fa .*)*)", text, re.MULTILINE):
        separator = "" if result.strip('"').endswith("*") else " "
        yield name, signature(result.strip('"') + separator, name, re.findall(r'"([^"]*)"', body) or [word for word in body.split() if word != ".Fa"])


problems, links = [], 0
functions = header_signatures()
pages = {path.stem: path for path in (MAN / "man3").glob("*.3")}

for name in sorted(functions.keys() - pages.keys()):
    problems.append(f"{name}: no man/man3/{name}.3")
for name, path in sorted(pages.items()):
    text = path.read_text()
    link = re.match(r"\.so man3/(\w+)\.3\s*$", text)
    if link:
        links += 1
        target = pages.get(link[1])
        text = target.read_text() if target else ""
        if not text or text.startswith(".so"):
            problems.append(f"{path.name}: links to {link[1]}(3), which is no page")
    if name not in functions:
        problems.append(f"{path.name}: smddp.h has no function {name}")
        continue
    if not re.search(rf"^\.Nm {name}\b", text, re.MULTILINE):
        problems.append(f"{path.name}: no .Nm {name}")
    documented = dict(page_signatures(text)).get(name)
    if documented != functions[name]:
        problems.append(f"{path.name}: documents {documented}, smddp.h declares {functions[name]}")
for name in sorted(set(re.findall(r"(smddp_\w+)\(3\)", HEADER.read_text())) - pages.keys()):
    problems.append(f"smddp.h refers to {name}(3), which does not exist")

programs = [path.name for path in (BUILD / "bin").glob("smddp*") if path.is_file()]
for name in programs:
    if not (MAN / "man1" / f"{name}.1").exists():
        problems.append(f"{name}: no man/man1/{name}.1")
if not (MAN / "man7" / "smddp.7").exists():
    problems.append("no man/man7/smddp.7")

existing = {(path.stem, path.suffix[1:]) for path in MAN.glob("man[137]/*")}
for path in sorted(MAN.glob("man[137]/*")):
    for name, section in re.findall(r"^\.Xr (smddp\S*) (\d)", path.read_text(), re.MULTILINE):
        if (name, section) not in existing:
            problems.append(f"{path.name}: .Xr {name} {section} does not exist")
# mandoc warns of every link page ("better use ln"); what they link to is checked above.
linted = [path for path in sorted(MAN.glob("man[137]/*")) if not path.read_text().startswith(".so ")]
if shutil.which("mandoc"):
    status, output = run("mandoc", "-T", "lint", "-W", "warning", *linted, cwd=MAN)
    if status:
        problems.append(f"mandoc:\n{output}")
else:
    problems.append("mandoc is not installed")
finish(problems, f"{len(pages)} pages in man3 ({links} links), {len(programs)} programs")
