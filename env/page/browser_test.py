#!/usr/bin/env python3
"""The page in a browser, as people use it: clicks, keys, search, dark and light, large captures, and that it asks for nothing.
Skipped (status 77) where there is no Chromium.

What everybody can use is checked with rules of our own, accessibility.js; with axe-core as well if AXE is the path of its axe.min.js.

Usage: browser_test.py REFRAIN INPUTS
       browser_test.py --screenshots PAGE FOLDER    makes the pictures of the documents"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import browser  # noqa: E402

ACCESSIBILITY = (pathlib.Path(__file__).parent / "accessibility.js").read_text()
AXE = pathlib.Path(os.environ["AXE"]) if os.environ.get("AXE") else None
failures = 0


def check(what: str, right: bool, found: object = "") -> None:
    global failures
    if not right:
        failures += 1
        print(f"FAILED: {what}{f': {found}' if found != '' else ''}")


def same(what: str, wanted: object, found: object) -> None:
    check(what, wanted == found, f"wanted {wanted!r}, found {found!r}")


def quiet(page: browser.Browser, what: str) -> None:
    """After a page was used: nothing was complained of, nothing asked for, and everybody can use it."""
    same(f"{what}: errors", [], page.complaints())
    same(f"{what}: requests", [], page.requests())
    for dark in (False, True):
        page.dark(dark)
        same(f"{what}, {'dark' if dark else 'light'}: accessible", [], page.run(ACCESSIBILITY))
        if AXE:
            page.run(AXE.read_text() + ";0")
            same(f"{what}: axe-core", [], page.run("axe.run().then((found) => found.violations.map((one) => [one.id, one.impact, one.nodes[0].html]))"))
    page.dark(False)


def rows(page: browser.Browser, table: str = "graphs") -> int:
    return page.run(f"document.querySelectorAll('.{table} tbody tr').length")


def test_capture(page: browser.Browser, file: pathlib.Path) -> None:
    page.open(file)
    check("the verdict is first", "can be graphed" in page.run("document.querySelector('main .verdict').textContent"))
    same("graphs", 3, rows(page))
    same("no graph is chosen at first", 0, page.run("document.querySelectorAll('.details *').length"))
    page.click(".graphs tbody tr")
    check("a click shows the graph", page.run("document.querySelector('.details h3').textContent").startswith("Graph "))
    same("its picture is folded", 5, page.run("document.querySelectorAll('.picture .node').length"))
    same("a loop in it", "× 5", page.run("document.querySelector('.frame-name').textContent"))
    check("edges have kinds", page.run("document.querySelectorAll('.picture .edge.event').length") >= 1)
    check("what changes is marked", page.run("document.querySelectorAll('.node.changes').length") >= 1)
    # Keys: down, Enter, end.
    page.run("document.querySelector('.graphs tbody tr').focus()")
    page.press("ArrowDown", 40)
    page.press("Enter", 13, "\r")
    same("arrow and Enter choose the second row", 1, page.run(
        "[...document.querySelector('.graphs tbody').children].findIndex((row) => row.getAttribute('aria-selected') === 'true')"))
    page.press("End", 35)
    same("End leads to the last row", 2, page.run(
        "[...document.querySelector('.graphs tbody').children].indexOf(document.activeElement)"))
    # Sorting by a head.
    page.click(".graphs thead th:nth-child(4) button")
    came = page.run("[...document.querySelectorAll('.graphs tbody td:nth-child(4)')].map((cell) => "
                    "Number(cell.textContent.replace(/\\D/g, '')))")
    same("sorted by how often they came", sorted(came, reverse=True), came)
    same("which the head says", "descending", page.run("document.querySelector('.graphs thead th:nth-child(4)').getAttribute('aria-sort')"))
    # Search.
    page.click("input[type=search]")
    page.type("no such graph")
    same("nothing found", 0, rows(page))
    page.run("document.querySelector('input[type=search]').value = ''")
    page.type("residual")
    check("found", 0 < rows(page) < 3, rows(page))
    check("and counted", page.run("document.querySelector('.found').textContent").endswith("of 3"))
    check("advice", page.run("document.querySelectorAll('.advice').length") >= 2)
    # Dark and light: as the system has it, and by hand.
    ground = "getComputedStyle(document.body).backgroundColor"
    page.dark(True)
    dark = page.run(ground)
    page.dark(False)
    light = page.run(ground)
    check("dark is not light", dark != light, dark)
    page.click("#theme")
    same("dark by hand", dark, page.run(ground))
    page.click("#theme")
    page.dark(True)
    same("light by hand", light, page.run(ground))
    page.click("#theme")
    quiet(page, "capture")


def test_timeline(page: browser.Browser, file: pathlib.Path) -> None:
    page.open(file)
    page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    drawn = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(" \
            "document.querySelector('canvas').dataset.view.split(' ').map(Number)))))"
    told = "document.querySelector('.told').textContent"
    x, y, width = page.run("(() => { const c = document.querySelector('canvas'); c.scrollIntoView({block: 'center', behavior: 'instant'}); "
                           "const r = c.getBoundingClientRect(); return [r.x, r.y, r.width]; })()")
    whole = page.run(drawn)
    check("something is drawn", page.run(
        "(() => { const c = document.querySelector('canvas'); const d = c.getContext('2d').getImageData(c.width / 2 - 100, 22, 200, 26).data; "
        "return new Set([...Array(d.length / 4).keys()].map((i) => d[4 * i] << 16 | d[4 * i + 1] << 8 | d[4 * i + 2])).size; })()") >= 2)
    page.wheel(x + width * 0.7, y + 40, -600)
    near = page.run(drawn)
    check("the wheel zooms in", near[1] - near[0] < 0.5 * (whole[1] - whole[0]), near)
    check("around the mouse", near[0] > whole[0] and near[1] < whole[1], near)
    page.click_at(x + width * 0.7, y + 40)
    check("what is under the mouse is told", page.run(told).startswith("lane 1: "), page.run(told))
    page.click(".tools button:nth-child(3)")
    same("all of it again", whole, page.run(drawn))
    page.run("document.querySelector('canvas').focus()")
    page.press("Home", 36)
    page.press("ArrowRight", 39)
    first = page.run(told)
    page.press("ArrowRight", 39)
    check("an arrow leads to the next call", first != page.run(told) and "submission" in page.run(told), page.run(told))
    page.press("ArrowDown", 40)
    check("down to the next track", page.run(told).startswith("queue 1"), page.run(told))
    page.press("+", 187, "+")
    zoomed = page.run(drawn)
    check("plus zooms in", zoomed[1] - zoomed[0] < whole[1] - whole[0], zoomed)
    page.press("0", 48, "0")
    same("0 shows all", whole, page.run(drawn))
    quiet(page, "timeline")


def test_reports(page: browser.Browser, made: dict[str, pathlib.Path]) -> None:
    page.open(made["report"])
    same("graphs of a report", 24, rows(page))
    page.click(".graphs tbody tr")
    check("what became of submissions", "50.0 % replayed" in page.run("document.querySelector('.fates').getAttribute('aria-label')"))
    check("a report's graph", "eagerly" in page.run("document.querySelector('.details').textContent"))
    page.run("document.querySelector('canvas').focus()")
    page.press("Home", 36)
    page.press("ArrowRight", 39)
    page.press("ArrowRight", 39)
    told = "document.querySelector('.told').textContent"
    same("a report's timeline: an eager interval", "lane 1: interval of 40 submissions: 40 eager (what graphs bring is not known yet), 3.0 ms, at 10.0 ms",
         page.run(told))
    page.press("End", 35)
    page.press("ArrowLeft", 37)
    page.press("ArrowLeft", 37)
    same("and one with graphs", "lane 1: interval of 40 submissions: 34 replayed in 3 launches, 4 held but issued one by one, 2 eager "
         "(graphs pay), 3.0 ms, at 990.0 ms", page.run(told))
    # Of a column in its middle: green at the bottom, then what was held only, then what was eager.
    same("its parts are drawn apart, in proportion", [[4, 85], [5, 5], [7, 10]], page.run(
        "(() => { const track = tracksOf(JSON.parse(document.getElementById('data').textContent).inputs[0].timeline)[0];"
        "const columns = kStates.map(() => new Float32Array(2)); track.cover(990e6, 992e6, columns, 1);"
        "return columns.map((column, state) => [state, Math.round(100 * column[0])]).filter(([, share]) => share); })()"))
    same("what became of its submissions, and where its time went",
         "lane 1 100 2720 240 320 960 240.0 ms 60.0 ms 304.0 us 500.0 ms",
         page.run("[...document.querySelector('table tbody tr').children].map((cell) => cell.textContent.replace(/\u202f/g, '')).join(' ')"))
    same("chunk sizes over time: the line of the longest one", "M0.0 42.0H200.4V18.0H400.8V50.0H601.2V2.0H1000",
         page.run("document.querySelector('.chart .longest').getAttribute('d')"))
    same("and all changes", ["lane 1 0 start 0 8 × 4 128 the rest", "lane 1 200.0 ms pace 0 16 × 4 1024 the rest",
                             "lane 1 400.0 ms trial 2 64 × 1 64 the rest", "lane 1 600.0 ms chosen 1 16 × 4 4096 32"],
         page.run("[...document.querySelectorAll('.chunks tbody tr')].map((row) => "
                  "[...row.children].map((cell) => cell.textContent.replace(/\u202f/g, '')).join(' '))"))
    check("those left out are counted", "3 later changes not shown" in page.run("document.body.textContent"))
    check("its reasons", "the call blocks" in page.run("document.querySelector('.obstacles').textContent"))
    quiet(page, "report")
    page.open(made["compared"])
    same("two reports: what was measured", 6, rows(page, "measures"))
    same("two reports: graphs of both", 27, rows(page, "both"))
    check("which are new", "only in the second" in page.run("document.querySelector('.both').textContent"))
    quiet(page, "comparison")
    page.open(made["together"])
    same("report and capture: the report's verdict is first", "Report: Verdict",
         page.run("document.querySelector('h2').textContent"))
    quiet(page, "together")


def test_large(page: browser.Browser, made: dict[str, pathlib.Path], sizes: dict[str, tuple[float, float]]) -> None:
    for name, (seconds, megabytes) in sizes.items():
        file = made[name]
        size = file.stat().st_size / 1e6
        took = []
        for _ in range(3):  # others may be at work on this machine
            begin = time.monotonic()
            page.open(file)
            page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            took.append(time.monotonic() - begin)
            if took[-1] < seconds:
                break
        print(f"{name}: {size:.2f} MB, opened and drawn in {' '.join(f'{one:.2f}' for one in took)} s")
        check(f"{name} opens within {seconds} s", min(took) < seconds, took)
        check(f"{name} has less than {megabytes} MB", size < megabytes, size)
        quiet(page, name)


def screenshots(program: str, file: str, folder: pathlib.Path) -> int:
    with browser.Browser(program) as page:
        for name, width, height in (("wide", 1280, 1330), ("narrow", 420, 900)):
            page.size(width, height)
            page.dark(name == "narrow")
            page.open(file)
            page.run("document.querySelector('.graphs tbody tr').click()")
            page.run("new Promise((done) => setTimeout(done, 300))")
            page.screenshot(folder / f"page-{name}.png")
    return 0


def main() -> int:
    program = browser.found()
    if not program:
        print("skipped: there is no Chromium here (Debian: chromium)")
        return 77
    if sys.argv[1] == "--screenshots":
        return screenshots(program, sys.argv[2], pathlib.Path(sys.argv[3]))
    refrain, inputs = sys.argv[1], sys.argv[2]
    with tempfile.TemporaryDirectory(prefix="refrain-page-") as folder:
        work = pathlib.Path(folder)
        subprocess.run([inputs, folder], check=True)
        made = {}
        for name, files in {"small": ["small.rfn"], "report": ["first.json"], "compared": ["first.json", "second.json"],
                            "captures": ["small.rfn", "other.rfn"], "together": ["small.rfn", "first.json"],
                            "large": ["large.rfn"], "huge": ["huge.rfn"]}.items():
            made[name] = work / f"{name}.html"
            subprocess.run([refrain, "report", *(work / file for file in files), "-o", made[name]], check=True, capture_output=True)
        with browser.Browser(program) as page:
            test_capture(page, made["small"])
            test_timeline(page, made["small"])
            test_reports(page, made)
            page.size(400, 800)
            page.open(made["captures"])
            page.run("document.querySelector('.graphs tbody tr').click()")
            quiet(page, "narrow")
            same("nothing is wider than a narrow page", True, page.run("document.documentElement.scrollWidth <= innerWidth"))
            page.open(made["report"])
            quiet(page, "narrow report")
            same("nor of a report", True, page.run("document.documentElement.scrollWidth <= innerWidth"))
            page.size(1280, 900)
            test_large(page, made, {"large": (2, 5), "huge": (3, 5)})
    print("all as expected" if not failures else f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
