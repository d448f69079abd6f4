"""Part of benches/tsan_suite/run: what ThreadSanitizer and witness say of each test in a folder.

Usage: compare.py TESTS RESULTS [TEST…]

A test says in `RUN:` lines how it is built and run, and in `CHECK` lines what ThreadSanitizer is to say of it. Each line
is executed twice: as it stands, and with `witness run` in front of the program, where nothing is checked by the test.
"""

import collections, concurrent.futures, json, os, pathlib, re, shutil, signal, subprocess, sys

TESTS, RESULTS = map(pathlib.Path, sys.argv[1:3])
WITNESS = os.environ["WITNESS"]
RUNS, JOBS = os.environ.get("RUNS", "10"), int(os.environ.get("JOBS", "2"))
COMPILERS = {"gcc": ("gcc", "g++"), "clang": ("clang-14", "clang++-14")}
FLAGS = f"-g -msse4.2 -w -pthread -ldl -lrt -I{TESTS.parent}"
# ThreadSanitizer's fixed memory layout does not go with every randomised one, hence setarch. What it says is kept.
STOCK = """#!/usr/bin/env bash
setarch -R "$@" > >(tee -a "$RESULT.said") 2> >(tee -a "$RESULT.said" >&2)
"""
OURS = """#!/usr/bin/env bash
timeout 240 "$WITNESS" run --timeout 20 --time-limit 60 --runs "$RUNS" -o "$RESULT.bin" \\
    --report json="$RESULT.json" --report text="$RESULT.txt" -- "$@" >"$RESULT.live" 2>"$RESULT.errors"
echo $? >"$RESULT.status"
"""
SAYS = re.compile(r"(?:WARNING|ERROR): ThreadSanitizer: (.*?)(?: \(pid=| on | in |$)", re.M)
LIVE = re.compile(r"SUMMARY: witness: (\d+) confirmed live")
FRAME = re.compile(r"^    #\d+ .*?([^/\s:]+):(\d+)", re.M)


def lines(text):
    """The commands of a test."""
    found, begun = [], ""
    for line in re.findall(r"RUN:(.*)", text):
        line = begun + line.strip()
        begun = line.removesuffix("\\") if line.endswith("\\") else ""
        if not begun:
            found.append(line)
    return found


def expected(text, line):
    """What a command is to make ThreadSanitizer say: kinds of reports; any, if only that there is one is checked."""
    prefixes = ",".join(re.findall(r"-check-prefix(?:es)?[= ](\S+)", line)) or "CHECK"
    prefixes = "|".join(map(re.escape, prefixes.replace("%os", "Linux").split(",")))
    checks = re.findall(rf"\b(?:{prefixes})(?:-NEXT|-SAME|-DAG|-LABEL|-Linux)?: *(?:WARNING|ERROR)?:? ?ThreadSanitizer: (.*)", text)
    kinds = {re.sub(r"(?: on vptr)? ?[({].*| reported.*", "", check).strip() for check in checks} - {""}
    fails = re.search(r"%deflake", line) and not re.search(r"\bnot +%deflake", line)
    return kinds or ({"any"} if fails else set())


def command(line, compiler, source, target, ours):
    """A command of a test as the shell knows it."""
    c, cxx = COMPILERS[compiler]
    sanitize = "-fsanitize=thread -fPIE -pie"
    if ours:
        c, cxx, sanitize = "$WITNESS cc", "$WITNESS c++", ""
        line = re.sub(r"\| *FileCheck [^|&]*|^ *FileCheck .*", "", line)
        line = re.sub(r"(^|\s)(?:not|%deflake) ", r"\1", line)
    words = {
        # The C compiler links no C++ library.
        "%clang_tsan ": "%clangxx_tsan " if source.suffix == ".cpp" else f"{c} {sanitize} {FLAGS} ",
        "%clangxx_tsan ": f"{cxx} {sanitize} {FLAGS} -std=c++11 ",
        "%deflake ": f"{TESTS}/deflake.bash 5 ",
        "%env_tsan_opts=": "env TSAN_OPTIONS=atexit_sleep_ms=0:",
        "%run ": f"{RESULTS}/{'ours' if ours else 'stock'} ",
        "%link_libcxx_tsan": "",
        "%ld_flags_rpath_so": "",
        "%ld_flags_rpath_exe": f"{target}.so -Wl,-rpath,{target.parent}",
        "%dynamiclib": f"{target}.so",
        "%darwin_min_target_with_tls_support": "",
        "CHECK-%os": "CHECK-Linux",
        "%s": str(source),
        "%t": str(target),
    }
    for word, meaning in words.items():
        line = line.replace(word, meaning)
    return line or "true"


def shell(text, folder, result, **variables):
    """Runs a command; whether it ended well within five minutes."""
    paths = os.environ["PATH"] + ":/usr/lib/llvm-14/bin"
    variables |= {"RUNS": RUNS, "RESULT": str(result), "PATH": paths, "TSAN_OPTIONS": "atexit_sleep_ms=0"}
    with open(f"{result}.log", "wb") as log:
        process = subprocess.Popen(
            ["bash", "-o", "pipefail", "-c", text], cwd=folder, stdin=subprocess.DEVNULL, stdout=log,
            stderr=subprocess.STDOUT, env=os.environ | variables, start_new_session=True)
        try:
            return process.wait(300) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return False


def read(path):
    return path.read_text(errors="replace") if path.exists() else ""


def places(results, side):
    """Where an access of a witnessed pair is: the lines of its stack."""
    found = set()
    number = side["stack"]
    while number is not None:
        frame = results["frames"][number]
        number = frame["caller"]
        if frame["file"]:
            found.add((pathlib.Path(frame["file"]).name, frame["line"]))
    return found


def shows(pairs, report):
    """Whether one of the pairs is the one that a report of ThreadSanitizer is about, by the innermost frames of each."""
    sides = [
        [(file, int(line)) for file, line in FRAME.findall(part)]
        for part in re.split(r"^  (?:Previous|As if synchronized|Location|Mutex|Thread) ", report, flags=re.M)[:2]
    ]
    if len(sides) < 2 or not all(sides):
        return False
    def meet(a, b):
        return any(place in a for place in sides[0]) and any(place in b for place in sides[1])
    return any(meet(*pair["places"]) or meet(*reversed(pair["places"])) for pair in pairs)


def run(source, compiler):
    """What both say of a test that one compiler builds: for each command that runs the program or checks it, a row."""
    folder = RESULTS / compiler / source.relative_to(TESTS).with_suffix("")
    shutil.rmtree(folder, ignore_errors=True)
    text = read(source)
    commands = lines(text)
    c, cxx = COMPILERS[compiler]
    rows = {}
    for ours in (False, True):
        place = folder / ("ours" if ours else "stock")
        place.mkdir(parents=True)
        for number, line in enumerate(commands):
            result = place / str(number)
            ended_well = shell(command(line, compiler, source, place / "t", ours), place, result,
                               WITNESS=WITNESS, WITNESS_CC=c, WITNESS_CXX=cxx)
            row = rows.setdefault(number, {"test": str(source.relative_to(TESTS)), "compiler": compiler,
                                           "command": number, "expected": expected(text, line)})
            if not ours:
                row |= {"passes": ended_well, "said": read(place / f"{number}.said")}
                continue
            row["ran"] = "%run" in line
            row["status"] = read(place / f"{number}.status").strip()
            # Forked children have results of their own.
            results = [place / f"{number}.json", *place.glob(f"{number}.[0-9]*.json")]
            row["pairs"] = [pair for path in results for pair in witnessed(path)]
            live = LIVE.findall(read(place / f"{number}.live") + read(place / f"{number}.errors"))
            row["shown"] = bool(live) and all(int(confirmed) > 0 for confirmed in live)
    return list(rows.values())


def witnessed(results):
    """The pairs that a results object has witnessed and shows."""
    results = json.loads(read(results) or '{"pairs": []}')
    pairs = [pair for pair in results["pairs"] if pair["verdict"] == "witnessed" and not pair.get("suppressed")]
    for pair in pairs:
        pair["places"] = [places(results, pair[side]) for side in ("a", "b")]
    return pairs


def built(rows):
    return all(row["status"] for row in rows if row["ran"])


def one(name):
    """The rows of a test, by the compiler whose ThreadSanitizer does what the test wants, else by one that builds it."""
    tried = []
    for compiler in COMPILERS:
        tried.append(run(TESTS / name, compiler))
        if all(row["passes"] for row in tried[-1]):
            break
    else:
        tried.sort(key=lambda rows: not built(rows))
        return tried[0]
    return tried[-1]


def is_race(row):
    """Whether a command is to make ThreadSanitizer report a data race."""
    kinds = row["expected"] | set(SAYS.findall(row["said"]))
    return bool(row["expected"]) and any(kind.startswith("data race") for kind in kinds)


def judge(rows):
    """What kind of test it is, and what witness makes of it."""
    ran = [row for row in rows if row["ran"]]
    races = [row for row in ran if is_race(row)]
    silent = [row for row in ran if not row["expected"]]
    if not built(rows):
        return "not built", ""
    kind = "race" if races else "silent" if len(silent) == len(ran) else "other report"
    if any(row["pairs"] for row in silent):
        return kind, "flagged"
    if not all(row["pairs"] or row["status"] in ("0", "67", "68") for row in ran):
        return kind, "undecided (status " + ", ".join(row["status"] for row in ran) + ")"
    if not races:
        return kind, "found something" if any(row["pairs"] or row["status"] == "67" for row in ran) else "nothing"
    if not all(row["pairs"] for row in races):
        return kind, "not found"
    reports = [(row, report) for row in races for report in row["said"].split("WARNING: ThreadSanitizer: data race")[1:]]
    same = any(shows(row["pairs"], report) for row, report in reports)
    found = "found" if same or not reports else "found another"
    return kind, found + (" and shown live" if all(row["shown"] for row in races) else "")


def main():
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name, text in (("stock", STOCK), ("ours", OURS)):
        (RESULTS / name).write_text(text)
        (RESULTS / name).chmod(0o755)
    chosen = sys.argv[3:] or [
        str(path.relative_to(TESTS))
        for folder in (TESTS, TESTS / "Linux")
        for path in sorted(folder.iterdir())
        if path.suffix in (".c", ".cpp")
    ]
    for name in chosen:
        if not (TESTS / name).is_file():
            sys.exit(f"{name}: no such test in {TESTS}: give the names of its files there, such as free_race.c")
    counts, different = collections.Counter(), []
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for name, rows in zip(chosen, pool.map(one, chosen)):
            kind, outcome = judge(rows)
            counts[kind, outcome] += 1
            says = ", ".join(sorted({kind for row in rows for kind in SAYS.findall(row["said"])})) or "nothing"
            print(f"{name}: {rows[0]['compiler']}, {kind}, {outcome}; ThreadSanitizer: {says}", file=sys.stderr, flush=True)
            if outcome not in ("found and shown live", "nothing"):
                different.append((name, rows[0]["compiler"], kind, says, outcome))
    print("| kind | outcome | tests |\n|---|---|--:|")
    for (kind, outcome), count in sorted(counts.items()):
        print(f"| {kind} | {outcome} | {count} |")
    print("\n| test | compiler | kind | ThreadSanitizer | witness |\n|---|---|---|---|---|")
    for row in different:
        print("| " + " | ".join(row) + " |")


main()
