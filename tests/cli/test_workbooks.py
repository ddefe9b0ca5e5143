"""Workbooks as offices keep them: read by the commands that messages propose, and written back."""

import datetime as dt
import re
import shlex
import subprocess
import sys
import zipfile

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet
import pytest
from score_files import write_table

import trueodds

N = 300
TITLE = "Auswertung September"


@pytest.fixture(scope="module")
def drawn():
    """True probabilities of 300 contracts, what the vendor says, and what happened."""
    rng = np.random.default_rng(3)
    z = rng.normal(0, 1.5, N)
    happened = rng.random(N) < 1 / (1 + np.exp(-z))
    percent = np.round(100 / (1 + np.exp(-2 * z)), 1).clip(0.1, 99.9)
    return percent, happened


def german(percent: float) -> str:
    return f"{percent:.1f} %".replace(".", ",")


@pytest.fixture(scope="module")
def messy(drawn, tmp_path_factory):
    """Titles, a header in row 4, percentages as German texts, formats, and a total row."""
    book = openpyxl.Workbook()
    book.active.title = "Deckblatt"
    book.active["A1"] = "Nur für den internen Gebrauch"
    sheet = book.create_sheet("Daten 09")
    sheet["A1"], sheet["B2"], sheet["I1"] = TITLE, "Stand: 30.09.2026", "=1+1"
    for column, name in enumerate(["Vertrag", "Score Anbieter", "Schaden", "Datum", "Notiz"], 1):
        sheet.cell(4, column, name).font = openpyxl.styles.Font(bold=True)
    for number, (percent, happened) in enumerate(zip(*drawn, strict=True)):
        day = dt.date(2026, 9, 1 + number % 30)
        row = [f"V{number:05d}", german(percent), "ja" if happened else "nein", day, "x"]
        sheet.append(row)
        cell = sheet.cell(sheet.max_row, 5, "=cmd|'/c calc'!A0")
        cell.data_type = "s"  # a text, as someone typed it
    sheet.append(["Summe", german(drawn[0].sum())])
    sheet["F8"].number_format = "0.00"  # empty cells with formats, where the result will stand
    sheet["H8"].number_format = "0.00"
    path = tmp_path_factory.mktemp("messy") / "vendor.xlsx"
    book.save(path)
    return path


def proposed(result):
    """The command at the end of a message, without the program's name."""
    assert result.code == 1, result
    said, found, command = result.err.partition(" Try: trueodds ")
    assert found, result.err
    return said, shlex.split(command)


def test_an_analyst_reaches_corrected_numbers_by_the_commands_that_messages_propose(
    run, messy, drawn, tmp_path
):
    words = [messy, "-s", "Score Anbieter", "-l", "Schaden", "--positive", "ja"]
    said, command = proposed(run("evaluate", *words))
    assert "Row 4 of 'Daten 09' has these columns" in said
    assert "last row looks like a total" in said
    found = run(*command, "--json").json
    assert found["rows_used"] == N
    assert found["classes"] == ["nein", "ja"]
    assert found["evaluation"]["mean_score"] == pytest.approx(drawn[0].mean() / 100)
    assert found["evaluation"]["prevalence"] == pytest.approx(drawn[1].mean())

    page = tmp_path / "page.html"
    methods = ["-m", "identity", "-m", "beta"]
    _, command = proposed(run("report", *words, *methods, "-o", page))
    assert run(*command).code == 0
    assert "Score Anbieter" in page.read_text("utf-8")

    fitted, out = tmp_path / "map.json", tmp_path / "korrigiert.xlsx"
    _, command = proposed(run("fit", *words, "-m", "beta", "-o", fitted))
    assert run(*command).code == 0
    _, command = proposed(run("apply", fitted, messy, "-s", "Score Anbieter", "-o", out))
    result = run(*command)
    assert result.code == 0, result.err

    old, new = (openpyxl.load_workbook(path) for path in (messy, out))
    assert new.sheetnames == old.sheetnames
    before, after = old["Daten 09"], new["Daten 09"]
    for row in before.iter_rows(max_col=5):
        for cell in row:
            other = after.cell(cell.row, cell.column)
            assert (other.value, other.data_type) == (cell.value, cell.data_type)
            assert other.number_format == cell.number_format
            assert other.font.b == cell.font.b
    assert after["I1"].value == "=1+1"
    assert after["I1"].data_type == "f"
    assert after["F4"].value == "probability"
    assert after["F4"].font.b
    expected = 100 * trueodds.load(fitted)(drawn[0] / 100)
    written = [after.cell(5 + number, 6).value for number in range(N)]
    assert written == [german(value) for value in expected]  # as the scores are: "95,1 %"
    assert [after.cell(row, 6).value for row in (1, 2, 3, 5 + N)] == [None] * 4
    assert after["H8"].number_format == "0.00"
    assert after.max_column == 9


def test_a_workbook_keeps_cached_results_formats_and_rows_without_a_score(run, data, tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["p", "n"])
    for value in (0.25, None, 0.75, "k.A."):
        book.active.append([value, 1])
        book.active.cell(book.active.max_row, 1).number_format = "0.0%"
    path, out = tmp_path / "s.xlsx", tmp_path / "o.xlsx"
    book.save(path)
    _with_part(
        path,
        "xl/worksheets/sheet1.xml",
        lambda xml: xml.replace('<c r="B2" t="n"><v>1</v></c>', '<c r="B2"><f>2+3</f><v>5</v></c>'),
    )
    words = ["apply", data / "map.json", path, "-s", "p", "-o", out]
    assert "2 of 4 rows cannot be used" in run(*words).err
    result = run(*words, "--on-bad-rows", "skip")
    assert "4 rows; new column: probability (left blank: " in result.err
    values, formulas = (
        openpyxl.load_workbook(out, data_only=flag).active for flag in (True, False)
    )
    assert (values["B2"].value, formulas["B2"].value) == (5, "=2+3")
    expected = trueodds.load(data / "map.json")([0.25, 0.75])
    found = [values.cell(row, 3).value for row in range(2, 6)]
    assert found == [pytest.approx(expected[0]), None, pytest.approx(expected[1]), None]
    assert values["C2"].number_format == "0.0%"


def _with_part(path, part, change):
    """Write a workbook again with one part changed."""
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    before = parts[part]
    parts[part] = change(before.decode()).encode()
    assert parts[part] != before
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, content in parts.items():
            book.writestr(name, content)


def test_rows_and_cells_without_references_and_with_prefixes_are_written_back(run, data, tmp_path):
    book, path, out = openpyxl.Workbook(), tmp_path / "s.xlsx", tmp_path / "o.xlsx"
    for row in (["p", "y"], [0.25, 1], [0.5, 0]):
        book.active.append(row)
    book.save(path)

    def change(xml):
        xml = re.sub(r'<(row|c) r="[A-Z0-9]+"', r'<\1 spans="1:2"', xml)
        xml = re.sub(r"<(/?)([a-zA-Z]+)", r"<\1x:\2", xml)
        return xml.replace("xmlns=", "xmlns:x=")

    _with_part(path, "xl/worksheets/sheet1.xml", change)
    result = run("apply", data / "map.json", path, "-s", "p", "-o", out)
    assert result.code == 0, result.err
    with zipfile.ZipFile(out) as archive:
        assert '<x:c r="C2"><x:v>' in archive.read("xl/worksheets/sheet1.xml").decode()
    found = list(openpyxl.load_workbook(out).active.iter_rows(values_only=True))
    expected = trueodds.load(data / "map.json")([0.25, 0.5])
    assert found[0] == ("p", "y", "probability")
    assert [row[2] for row in found[1:]] == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_new_workbook_has_the_values_with_their_types(run, data, tmp_path, kind):
    rows = {
        "id": ["007", "=1+1", "#N/A", "a\x1bb_x0041_", None],
        "p": [0.1, 0.2, 0.3, 0.4, 0.5],
        "n": [1, 2, 3, 4, 1 << 62],
        "yes": [True, False, True, False, None],
    }
    if kind == "parquet":
        rows["day"] = [dt.date(2026, 1, day) for day in range(1, 6)]
        rows["list"] = [[1, 2], [], None, [3], [4]]
    path, out = write_table(pa.table(rows), tmp_path / f"my rows.{kind}"), tmp_path / "o.xlsx"
    result = run("apply", data / "map.json", path, "-s", "p", "-o", out)
    assert result.code == 0, result.err
    assert zipfile.is_zipfile(out)
    sheet = openpyxl.load_workbook(out).active
    assert sheet.title == "my rows"
    found = list(sheet.iter_rows(values_only=True))
    assert found[0] == (*rows, "probability")
    assert all(cell.data_type != "f" for row in sheet.iter_rows() for cell in row)
    assert [row[0] for row in found[1:4]] == ["007", "=1+1", "#N/A"]
    assert openpyxl.utils.escape.unescape(found[4][0]) == "a\x1bb_x0041_"
    assert [row[2] for row in found[1:]] == [1, 2, 3, 4, str(1 << 62)]
    assert [row[3] for row in found[1:]] == [True, False, True, False, None]
    if kind == "parquet":
        assert found[1][4:6] == (dt.datetime(2026, 1, 1), "[1, 2]")
    expected = trueodds.load(data / "map.json")(np.array(rows["p"]))
    assert [row[-1] for row in found[1:]] == pytest.approx(expected)
    again = run(
        "apply",
        data / "map.json",
        out,
        "-s",
        "p",
        "--output-column",
        "again",
        "-o",
        "-",
        "--output-format",
        "csv",
    )
    assert again.code == 0, again.err


def test_workbooks_go_to_standard_output_too(run_process, data):
    words = ["apply", data / "map.json", data / "scores.csv", "-s", "p", "-o", "-"]
    result = run_process(*words, "--output-format", "xlsx")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(b"PK")


def test_what_a_sheet_cannot_hold_is_refused(run, data, tmp_path, monkeypatch):
    path, out = tmp_path / "s.csv", tmp_path / "o.xlsx"
    words = ["apply", data / "map.json", path, "-s", "p", "-o", out]
    path.write_text(f"p,t\n0.5,{'x' * 40_000}\n")
    assert "a cell holds 32,767 characters" in run(*words).err
    path.write_text("p\n0.5\n0.25\n")
    monkeypatch.setattr("trueodds.cli.files.xlsx.MOST_ROWS", 2)
    assert "a sheet holds at most 2 rows; write CSV or Parquet" in run(*words).err
    assert not out.exists()
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    result = run(*words)
    assert (result.code, out.exists()) == (3, False)
    assert "writing xlsx files needs openpyxl; install it with" in result.err
    assert result.err.endswith('install it with: pip install "trueodds[excel]"\n')


def test_titles_above_the_header_of_a_csv_file_are_found_and_come_back(run, data, tmp_path):
    path, out = tmp_path / "s.csv", tmp_path / "o.csv"
    text = f'{TITLE}, "Anbieter\n\np;y\n0,25;1\n0,5;0\n0,75;1\nTotal;2\n'
    path.write_text(text, "utf-8")
    _, command = proposed(run("evaluate", path, "-s", "p", "-l", "y"))
    assert command[-6:] == ["--header-row", "3", "--footer-rows", "1", "--decimal", ","]
    assert run(*command, "--json").json["rows"] == 3
    said, command = proposed(run("apply", data / "map.json", path, "-s", "p", "-o", out))
    assert "Line 3 has these columns" in said
    assert run(*command).code == 0
    lines = out.read_text("utf-8").splitlines()
    assert lines[:3] == [*text.splitlines()[:2], "p;y;probability"]
    assert lines[-1] == "Total;2"
    expected = trueodds.load(data / "map.json")([0.25, 0.5, 0.75])
    assert [float(line.split(";")[2].replace(",", ".")) for line in lines[3:6]] == pytest.approx(
        expected
    )


def test_a_total_that_could_be_a_row_is_counted_and_said(run, data, tmp_path):
    path, out = tmp_path / "s.csv", tmp_path / "o.csv"
    path.write_text("id,p\na,0.25\nb,0.75\nMean,0.5\n")
    result = run("apply", data / "map.json", path, "-s", "p", "-o", out)
    assert result.code == 0
    assert "the last row looks like a total, but read as data; to skip totals" in result.err
    result = run(
        "apply", data / "map.json", path, "-s", "p", "-o", out, "--footer-rows", 1, "--force"
    )
    assert "seems" not in result.err
    assert out.read_text().splitlines()[-1] == "Mean,0.5"
    assert (
        "fewer lines than --footer-rows 9"
        in run(
            "apply", data / "map.json", path, "-s", "p", "-o", out, "--footer-rows", 9, "--force"
        ).err
    )
    assert (
        "fewer than 99 lines"
        in run(
            "apply", data / "map.json", path, "-s", "p", "-o", out, "--header-row", 99, "--force"
        ).err
    )


@pytest.mark.parametrize("command", ["evaluate", "fit", "report"])
def test_rows_that_were_delivered_twice_are_counted_and_said(run, table, tmp_path, command):
    twice = pa.concat_tables([table, table.slice(10, 7)])
    path = write_table(twice, tmp_path / "s.csv")
    extra = {"report": ["-o", tmp_path / "r.html"], "fit": ["-o", tmp_path / "m.json"]}
    methods = [] if command == "evaluate" else ["-m", "identity"]
    words = [command, path, "-s", "p", "-l", "y", *methods, *extra.get(command, [])]
    assert "7 of 2,007 rows are exact duplicates" in run(*words).err
    rounded = pa.table({"p": np.round(table["p"].to_numpy(), 1), "y": table["y"], "g": table["g"]})
    write_table(rounded, path)  # equal rows are no surprise without a key
    assert "repeat" not in run(*words, *["--force"] * (command != "evaluate")).err


def test_options_of_sheets_are_refused_for_other_files(run, data, messy):
    words = ["-s", "p", "-l", "y"]
    for name, option in (("csv", ["--sheet", "a"]), ("parquet", ["--header-row", "2"])):
        result = run("evaluate", data / f"scores.{name}", *words, *option)
        assert result.code == 2
        assert f"{option[0]} is for" in result.err
    assert (
        "has no sheet 'x' (--sheet); it has 'Deckblatt', 'Daten 09'"
        in run("evaluate", messy, *words, "--sheet", "x").err
    )
    assert (
        "--encoding is for CSV files" in run("evaluate", messy, *words, "--encoding", "latin-1").err
    )


# Workbooks that would take the machine

SHEET = "xl/worksheets/sheet1.xml"


def _plain_book(path, rows=300):
    book = openpyxl.Workbook()
    book.active.append(["p", "y"])
    for number in range(rows):
        book.active.append([(number % 98 + 1) / 100, number % 2])
    book.save(path)


def _stray_cell(place):
    row = re.sub("[A-Z]", "", place)
    cell = f'<row r="{row}"><c r="{place}"><v>1</v></c></row></sheetData>'
    return lambda path: _with_part(path, SHEET, lambda xml: xml.replace("</sheetData>", cell))


def _spaces(path):
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    head, tail = parts.pop(SHEET).split(b"</sheetData>")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, content in parts.items():
            book.writestr(name, content)
        with book.open(SHEET, "w", force_zip64=True) as stream:
            stream.write(head)
            for _ in range(400):
                stream.write(b" " * 1_000_000)
            stream.write(b"</sheetData>" + tail)


def _shared_string(path):
    """One text of 500 MB that 48 cells share."""
    strings = "xl/sharedStrings.xml"
    cells = "".join(f'<row r="{k}"><c r="A{k}" t="s"><v>0</v></c></row>' for k in range(302, 350))
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    head, tail = parts[SHEET].split(b"</sheetData>")
    parts[SHEET] = head + cells.encode() + b"</sheetData>" + tail
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings"
    link = f'<Relationship Id="rId99" Type="{kind}" Target="sharedStrings.xml"/></Relationships>'
    relations = "xl/_rels/workbook.xml.rels"
    parts[relations] = parts[relations].replace(b"</Relationships>", link.encode())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, content in parts.items():
            book.writestr(name, content)
        with book.open(strings, "w", force_zip64=True) as stream:
            stream.write(b'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">')
            stream.write(b"<si><t>")
            for _ in range(500):
                stream.write(b"a" * 1_000_000)
            stream.write(b"</t></si></sst>")


def _long_text(path):
    text = "".join(map(chr, np.random.default_rng(0).integers(97, 123, 2_000_000)))
    cell = f'<row r="302"><c r="A302" t="inlineStr"><is><t>{text}</t></is></c></row></sheetData>'
    _with_part(path, SHEET, lambda xml: xml.replace("</sheetData>", cell))


HARMFUL = {
    "a cell at the last place": (_stray_cell("XFD1048576"), "reaches to XFD1048576"),
    "a cell far below": (_stray_cell("CV1048576"), "more than --memory"),
    "is not a cell reference": (_stray_cell("ZZZZZZZ99999999999"), "is not a cell reference"),
    "no such row": (_stray_cell("A9999999"), "is not a cell reference"),
    "spaces": (_spaces, "grows from"),
    "a shared text": (_shared_string, "grows from"),
    "a long text": (_long_text, "a cell holds at most 32,767 characters"),
    "a document type": (
        lambda path: _with_part(path, SHEET, lambda xml: '<!DOCTYPE a [<!ENTITY b "c">]>' + xml),
        "declares a document type",
    ),
    "not valid XML": (
        lambda path: _with_part(path, SHEET, lambda xml: xml[:-9]),
        "is not valid XML",
    ),
}


@pytest.mark.parametrize("harm", HARMFUL)
def test_a_small_workbook_cannot_take_the_machine(tmp_path, harm):
    path, (change, sentence) = tmp_path / "s.xlsx", HARMFUL[harm]
    _plain_book(path)
    change(path)
    words = [sys.executable, "-m", "trueodds", "evaluate", path, "-s", "p", "-l", "y"]
    # A process counts the memory of the one that it was forked from: here, a small one.
    script = (
        "import resource as r, subprocess, sys\n"
        "r.setrlimit(r.RLIMIT_CPU, (60, 60)); r.setrlimit(r.RLIMIT_DATA, (6 << 30, 6 << 30))\n"
        "code = subprocess.run(sys.argv[1:], check=False).returncode\n"
        "print(code, r.getrusage(r.RUSAGE_CHILDREN).ru_maxrss)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, text=True, check=True
    )
    code, peak = map(int, run.stdout.split())  # and nothing else was printed
    assert code == 1, run.stderr
    assert run.stderr.count("\n") == 1
    assert sentence in run.stderr
    assert peak < 300_000  # kB


def test_damaged_archives_and_old_files_are_said_in_a_sentence(run, tmp_path):
    path = tmp_path / "s.xlsx"
    path.write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(5000))
    assert "has a password or is an .xls file" in run("evaluate", path, "-s", "p", "-l", "y").err
    _plain_book(path)
    whole = path.read_bytes()
    for size in (30, len(whole) // 2, len(whole) - 10):
        path.write_bytes(whole[:size])
        result = run("evaluate", path, "-s", "p", "-l", "y")
        assert result.code == 1
        assert "cannot be read as a workbook" in result.err


def test_a_panic_of_the_reader_is_a_sentence(run, tmp_path, monkeypatch):
    import python_calamine

    class PanicException(BaseException):
        pass

    def fail(_):
        raise PanicException("index out of bounds")

    path = tmp_path / "s.xlsx"
    _plain_book(path)
    monkeypatch.setattr(python_calamine, "load_workbook", fail)
    result = run("evaluate", path, "-s", "p", "-l", "y")
    assert result.code == 1
    assert "is damaged and cannot be read as a workbook" in result.err
