"""The check of prose finds what is planted, where it is, and leaves code and quotations alone."""

import re
from pathlib import Path

import check_prose
import pytest

BY_SUFFIX = {
    ".md": "# Title\n\nClean words here.\n{}\n",
    ".py": 'def f():\n    """Do it.\n\n    {}\n    """\n',
    ".j2": "<main>\n<p>\n<b>Clean</b> words.\n{}</p></main>\n",
}


def findings(folder, text, suffix=".md"):
    path = Path(folder) / f"page{suffix}"
    path.write_text(text, "utf-8")
    return [(found.line, found.phrase) for found in check_prose.findings_of(path)]


@pytest.mark.parametrize("rule", check_prose.RULES, ids=lambda rule: rule.pattern.pattern[:30])
def test_each_rule_finds_its_wrong_example_and_accepts_the_right_one(rule):
    assert rule.pattern.search(rule.wrong)
    assert not [other.instead for other in check_prose.RULES if other.pattern.search(rule.right)]


@pytest.mark.parametrize("suffix", BY_SUFFIX)
def test_a_planted_phrase_is_found_with_its_line(tmp_path, suffix):
    text = BY_SUFFIX[suffix]
    assert findings(tmp_path, text.format("It is beside\nthe map."), suffix) == [(4, "beside")]
    assert findings(tmp_path, text.format("It is next to the map."), suffix) == []


def test_a_phrase_across_two_lines_is_found(tmp_path):
    assert findings(tmp_path, "A bound in\nplace of the mean.") == [(1, "in place of")]


def test_the_report_names_file_line_phrase_and_replacement(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("One line.\nIt wants rows.\n", "utf-8")
    assert check_prose.main([str(page)]) == 1
    assert f'{page}:2: "wants": needs, requires\n' in capsys.readouterr().out


def test_messages_and_help_texts_are_read(tmp_path):
    text = 'x = 1\nraise ValueError(f"the map {x} wants 3 columns.")\n'
    assert findings(tmp_path, text, ".py") == [(2, "wants")]
    assert findings(tmp_path, 'HELP = (\n    "Show "\n    "90 % of it."\n)\n', ".py") == [
        (2, "0 %")
    ]
    assert findings(tmp_path, 'print(f"{x} % of rows")\n', ".py") == [(1, "} %")]


def test_cells_of_a_table_are_no_sentences_but_have_no_bad_phrases(tmp_path):
    rule = "    ======  ====\n"
    words = "    one two  three four five six seven eight nine ten eleven twelve\n" * 4
    table = f"{rule}    method  rule\n{rule}{words}{rule}"
    text = 'def f():\n    """Do it.\n\n{}\n    """\n'
    assert findings(tmp_path, text.format(table), ".py") == []
    planted = table.replace("three", "in place of", 1)
    assert findings(tmp_path, text.format(planted), ".py") == [(7, "in place of")]
    after = f"{table}\n    It is beside it.\n"
    assert findings(tmp_path, text.format(after), ".py") == [(13, "beside")]


def test_a_continued_line_does_not_hide_the_names_that_follow(tmp_path):
    text = (
        'def f(kind, level):\n    """Do it.\n\n    Parameters\n    ----------\n'
        '    kind : {"a"}, \\\ndefault="a"\n        Kind.\n'
        '    level : float\n        Of the interval.\n    """\n'
    )
    assert findings(tmp_path, text, ".py") == [(10, "Of")]


def test_code_and_lists_of_words_in_python_are_not_prose(tmp_path):
    words = " ".join(["word"] * 40)
    assert findings(tmp_path, f'x = "{words}".split()\n', ".py") == []
    assert findings(tmp_path, f'x = "\\ndef f(): {words}"\n', ".py") == []
    assert findings(tmp_path, f'x = "{words}"\ny = x.strip().splitlines()\n', ".py") == []
    for code in ("import json, os\\n", "copy (select ", "() => "):
        assert findings(tmp_path, f'x = "{code}{words}"\n', ".py") == []
    assert len(findings(tmp_path, f'x = "{words}"\ny = z.split()\n', ".py")) == 1
    assert len(findings(tmp_path, f'x = "import {words}"\n', ".py")) == 1
    assert len(findings(tmp_path, f'x = "{words}"\n', ".py")) == 1


def test_the_description_of_a_parameter_does_not_begin_with_of(tmp_path):
    text = (
        'def f(level):\n    """Do it.\n\n'
        '    Parameters\n    ----------\n    level : float\n        {}\n    """\n'
    )
    assert findings(tmp_path, text.format("Of the interval."), ".py") == [(7, "Of")]
    assert findings(tmp_path, text.format("Level of the interval."), ".py") == []
    assert findings(tmp_path, 'def f():\n    """Of three kinds, take one."""\n', ".py") == []


@pytest.mark.parametrize(
    "text",
    [
        "```\nit says 90 %\n```",
        "Call `says beside` or `wants\nby itself`.",
        'The paper states "it says 90 %\nof it".',
        "> It says so.",
        "A [link](docs/beside/says.md).",
        "| a | b |\n|---|---|\n| 9 | 3 |",
        "<img alt='beside'>",
    ],
)
def test_code_quotations_and_addresses_are_not_prose(tmp_path, text):
    assert findings(tmp_path, text) == []


def test_examples_and_references_in_docstrings_are_not_prose(tmp_path):
    text = (
        'def f():\n    """Do it.\n\n    References\n    ----------\n    .. [1] What it says.\n\n'
        '    Examples\n    --------\n    >>> f()  # says\n    beside\n\n    It says.\n    """\n'
    )
    assert findings(tmp_path, text, ".py") == [(13, "says")]


def test_a_long_sentence_is_reported_where_it_begins(tmp_path):
    long = "Short one. " + "Word " * 36
    assert findings(tmp_path, f"First.\n\n{long}") == [(3, "Word Word Word Word Word Word …")]
    assert findings(tmp_path, " ".join(["word"] * 35) + ". Then another.") == []


def test_all_that_a_user_reads_is_checked():
    checked = {check_prose.shown(path) for path in check_prose.checked_files()}
    assert {"README.md", "docs/index.md", "src/trueodds/exceptions.py"} <= checked
    assert "src/trueodds/report/assets/report.html.j2" in checked
    assert not [path for path in checked if re.search(r"docs/(_build|generated|gallery)/", path)]
