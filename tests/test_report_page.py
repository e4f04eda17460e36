"""The report page in a browser: what its switches, tables, figures and addresses do."""

import json
import re
import shutil
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from urllib.parse import unquote_plus

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from assemble_report import assemble_report
from report_pages import rows_of
from synthetic_runs import HOSTILE, configuration, write_run

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SETS = ("toy-test", "toy.more-2")
SIZES = {"phone": {"width": 390, "height": 844}, "desk": {"width": 1400, "height": 900}}


@pytest.fixture(scope="module")
def browser():
    """A headless browser of this machine; none is downloaded."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser; install one of {', '.join(BROWSERS)}")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    run = configuration(SETS) | {"averaging": ["query", "answer"]}
    given = write_run(tmp_path_factory.mktemp("results"), run)
    assemble_report(**given)
    return given


@pytest.fixture(scope="module")
def little(tmp_path_factory):
    """The page of a run of few shapes, one of which has no hard answers."""
    run = configuration(models=("oracle", "popular", "walker"), shapes=("1p", "2p", "2in"))
    given = write_run(tmp_path_factory.mktemp("results"), run, hard={"1p": [0, 0]})
    assemble_report(**given)
    return given["path_to_report"]


@pytest.fixture(scope="module")
def rows(given):
    return rows_of(given["path_to_metrics"])


class Opened:
    """A page, and everything that went wrong in it."""

    def __init__(self, browser, path, address="", **options):
        self.context = browser.new_context(**{"viewport": SIZES["desk"], **options})
        self.page = self.context.new_page()
        self.page.set_default_timeout(15_000)
        self.faults = []
        self.page.on("console", lambda message: self.faults.append(message.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("dialog", lambda dialog: self.faults.append(dialog.message))
        self.page.on("request", lambda request: self.faults.append(request.url))
        self.url = f"file://{path}"
        self.page.goto(self.url + address)
        self.settled()
        # The page itself is the one thing that may be asked for.
        self.faults = [one for one in self.faults if not one.startswith(self.url)]

    def settled(self):
        self.page.wait_for_selector("[id='explore:figure'][data-drawn] svg")

    def choose(self, **values):
        for name, label in values.items():
            self.page.locator(f"[data-switch={name}]").select_option(label=label)

    def numbers(self, table="[id='explore:table'] table"):
        """The numbers of a table by model and column."""
        return self.page.locator(table).first.evaluate(
            """table => Object.fromEntries([...table.tBodies[0].rows].map(row => [
                row.cells[0].firstChild.textContent,
                [...row.cells].slice(1).map(
                    cell => [cell.firstChild.textContent, cell.matches('.best')])
            ]))"""
        )

    def columns(self):
        heads = "[id='explore:table'] thead tr:last-child th"
        return [text.partition(" (")[0] for text in self.page.locator(heads).all_inner_texts()]

    def order(self, table="[id='explore:table'] table"):
        return list(self.numbers(table))


@pytest.fixture(scope="module")
def page(browser, given):
    found = Opened(browser, given["path_to_report"])
    yield found
    found.context.close()


@pytest.fixture
def opened(page):
    """The page as it is when it is opened, but for tables that were sorted."""
    page.page.get_by_role("button", name="Reset").click()
    yield page
    assert page.faults == []


def shown(row):
    if row["value"] == "":
        return "–"
    scale = 1 if row["metric"] == "mr" else 100
    return str((Decimal(row["value"]) * scale).quantize(Decimal("0.1"), ROUND_HALF_EVEN))


VIEWS = [
    ({}, {}),
    ({"metric": "Mean rank"}, {"metric": "mr"}),
    ({"metric": "Hits@3", "ties": "optimistic"}, {"metric": "hits@3", "ties": "optimistic"}),
    (
        {"queries": SETS[1], "filter": "full-only", "ties": "expected"},
        {"queries": SETS[1], "filter": "full-only", "ties": "expected"},
    ),
    ({"stratum": "2 missing links"}, {"stratum": "links=2"}),
    ({"averaging": "answer"}, {"averaging": "answers>shape>group"}),
    ({"metric": "Tie rate"}, {"metric": "tie_rate", "ties": ""}),
]


@pytest.mark.parametrize(("chosen", "asked"), VIEWS)
def test_switches_show_the_numbers_of_metrics_tsv(opened, rows, chosen, asked):
    opened.choose(**chosen)
    asked = {
        **{"queries": SETS[0], "metric": "mrr", "ties": "pessimistic", "stratum": ""},
        **{"filter": "observed-and-full", "averaging": "answers>query>shape>group"},
        **asked,
    }
    own = [row for row in rows if asked.items() <= row.items()]
    by_cell = {(row["model"], row["group"] or row["shape"]): row for row in own}
    columns, numbers = opened.columns(), opened.numbers()
    assert columns == ["1p", "2p", "2i", "2u", "EPFO", "2in", "pni", "negation"]
    rivals = [name for name in numbers if name in ("popular", "walker")]
    for model, cells in numbers.items():
        for column, (text, is_best) in zip(columns, cells, strict=True):
            assert text == shown(by_cell[model, column])
            known = [by_cell[name, column]["value"] for name in rivals]
            known = [float(value) for value in known if value]
            best = (min if asked["metric"] == "mr" else max)(known, default=None)
            value = by_cell[model, column]["value"]
            assert is_best == (model in rivals and value != "" and float(value) == best)


def test_f_of_answer_sets_is_a_metric(opened):
    opened.choose(metric="F0.5, top@10")
    assert opened.columns() == ["1p", "2p", "2i", "2u", "2in", "pni", "all queries"]
    texts = [text for text, _ in opened.numbers()["walker"]]
    assert texts == ["65.0", *["–"] * 5, "65.0"]


def test_the_figure_changes_with_the_table(opened):
    figure = opened.page.locator("[id='explore:figure']")
    before = figure.get_attribute("data-drawn")
    opened.choose(metric="Mean rank")
    opened.page.wait_for_function(
        "old => document.getElementById('explore:figure').dataset.drawn !== old", arg=before
    )
    about = figure.locator("[aria-roledescription=visualization]")
    label = about.first.get_attribute("aria-label")
    assert label.startswith("Mean rank on toy-test · pessimistic ties")
    n_numbers = sum(text != "–" for cells in opened.numbers().values() for text, _ in cells)
    points = figure.locator("g.mark-symbol.role-mark.layer_1_marks path")
    assert points.count() == n_numbers


def test_what_the_run_has_not_cannot_be_chosen(opened):
    opened.choose(stratum="1 missing link")
    is_disabled = opened.page.locator("[data-switch=ties] option").evaluate_all(
        "options => Object.fromEntries(options.map(one => [one.label, one.disabled]))"
    )
    assert is_disabled == {
        **{"pessimistic": False, "optimistic": True, "expected": True, "no policy": True}
    }
    opened.choose(metric="Tie rate")
    opened.choose(metric="MRR")
    assert opened.page.locator("[data-switch=ties]").evaluate("one => one.selectedIndex") == 0


def test_a_click_on_a_head_sorts_by_the_column(opened):
    button = opened.page.locator("[id='explore:table'] thead button", has_text="2p").first
    orders = []
    for _ in range(3):
        button.click()
        orders.append(opened.order())
    values = {name: float(cells[1][0]) for name, cells in opened.numbers().items()}
    assert orders[0] == sorted(values, key=values.get, reverse=True)
    assert [values[name] for name in orders[1]] == sorted(values.values())
    assert orders[2] == ["popular", "walker", "oracle", "flat"]


def test_static_tables_are_sorted_within_their_parts(opened):
    table = opened.page.locator(
        "section[aria-labelledby='toy-test'] table", has_text="1 missing link"
    ).first
    table.locator("thead button").first.click()
    names = table.locator("tbody").evaluate_all(
        """bodies => bodies.map(body => [...body.rows].map(
            row => row.cells[0].innerText.split('\\n')[0].trim()))"""
    )
    assert len(names) == 2
    for part in names:
        models = [name.replace(" control", "") for name in part[1:-2]]
        assert models == sorted(models) == ["flat", "oracle", "popular", "walker"]
        assert part[-2:] == ["queries", "hard answers"]


def test_long_tables_are_filtered_by_row(opened):
    label = opened.page.locator("label.filter").first
    table = label.locator("xpath=following-sibling::*[1]//table")
    table.evaluate("table => table.closest('details')?.setAttribute('open', '')")
    rows_of_table = table.locator("tbody tr:not(.part):not(.count)")
    word = rows_of_table.last.locator("th").inner_text()
    label.locator("input").fill(word)
    left = table.locator("tbody tr:visible:not(.part):not(.count)")
    assert 0 < left.count() < rows_of_table.count()
    assert all(word in text for text in left.all_inner_texts())


def test_models_and_columns_are_filtered(opened):
    opened.page.locator("[data-switch=models]").fill("WALK")
    opened.page.locator("[data-switch=columns]").fill("2i")
    assert opened.order() == ["walker"]
    assert opened.columns() == ["2i", "2in"]


def test_an_address_restores_the_view(browser, given, opened):
    opened.choose(queries=SETS[1], metric="Hits@3", ties="optimistic", show="averages of groups")
    opened.page.locator("[data-switch=models]").fill("a")
    opened.page.locator("[id='explore:table'] thead button", has_text="union").click()
    address = opened.page.evaluate("location.hash")
    assert "queries=toy.more-2" in unquote_plus(address)
    other = Opened(browser, given["path_to_report"], address)
    assert other.numbers() == opened.numbers()
    assert other.order() == opened.order()
    caption = "[id='explore:caption']"
    assert other.page.locator(caption).inner_text() == opened.page.locator(caption).inner_text()
    assert other.page.locator("[id='page:explore']").bounding_box()["y"] < 200
    other.page.get_by_role("button", name="Reset").click()
    assert other.page.locator(caption).inner_text().startswith("MRR on toy-test")
    assert other.page.evaluate("location.hash") == ""
    assert other.faults == []
    other.context.close()


@pytest.mark.parametrize("address", ["#view:queries=none&metric=x&ties=", "#view:", "#%E0%A4%A"])
def test_an_address_of_nothing_shows_the_first_view(browser, given, address):
    found = Opened(browser, given["path_to_report"], address)
    assert found.page.locator("[id='explore:caption']").inner_text().startswith("MRR on toy-test")
    assert found.faults == []
    found.context.close()


def test_an_undefined_metric_shows_its_reason(browser, little):
    found = Opened(browser, little, "#view:columns=1p")
    assert found.columns() == ["1p"]
    assert {text for cells in found.numbers().values() for text, _ in cells} == {"–"}
    notes = found.page.locator("[id='explore:notes']").inner_text()
    assert notes.startswith("No number here is defined: no query has a hard answer")
    assert found.faults == []
    found.context.close()


def test_queries_are_shown_with_their_labels_and_ranks(opened):
    part = opened.page.locator("[data-browser='0']")
    query = part.locator("details").first
    query.locator("summary").click()
    assert query.locator("summary code").inner_text() == (
        '"<i>likes</i>"("</script><script>alert(1)</script>",f)'
    )
    query.locator("thead th").first.wait_for()  # what was opened is drawn a moment later
    assert query.locator("thead th").all_inner_texts() == [
        *("hard answer", "missing links"),
        *("oracle", "popular", "walker", "flat"),
    ]
    ranks = query.locator("tbody tr").first.locator("td").all_inner_texts()
    assert ranks[1] == "1"
    n_hard = int(re.search(r"(\d+) hard", query.locator("summary").inner_text())[1])
    # All candidates tie under a constant: the hard answers are ranked one by one.
    assert ranks[-1] == f"1–{50 - n_hard + 1}"
    part.get_by_label("Label of any shape").fill("bold</b> &")
    assert part.locator("details").count() > 1
    assert all("<b>bold</b> & more" in text for text in part.locator("summary").all_inner_texts())


def test_why_an_answer_is_one_is_drawn_with_words_in_its_stead(opened):
    part = opened.page.locator("[data-browser='0']")
    part.get_by_label("Label of any shape").fill("")
    part.locator("select").first.select_option("pni")
    query = part.locator("details").first
    query.locator("summary").focus()
    opened.page.keyboard.press("Enter")
    words = query.locator(".words").inner_text()
    assert words.startswith("Which f? not [there is e1 so that (")
    drawn = query.locator(".why .path")
    labels = [HOSTILE[0], "<i>likes</i>", HOSTILE[1]]
    assert drawn.first.get_attribute("aria-label") == (
        "{} —{}→ {} (observed); {} —r1→ e30 (missing)".format(*labels, labels[2])
    )
    styles = drawn.locator(".line").evaluate_all(
        "lines => lines.map(one => getComputedStyle(one).borderTopStyle)"
    )
    # The second path is what a model takes.
    assert styles == ["solid", "dashed", "solid", "dotted"]
    assert query.locator(".why li", has_text="not [").count() == 1
    assert query.locator(".why").get_by_text("of degree 0.1875").count() == 1
    select = query.get_by_label("Why this is an answer").first
    while not select.evaluate("one => one === document.activeElement"):
        opened.page.keyboard.press("Tab")
    opened.page.keyboard.press("ArrowDown")
    assert drawn.count() == 1
    assert "(observed); " in drawn.get_attribute("aria-label")
    assert "—r1→ e31 (missing)" in drawn.get_attribute("aria-label")


def test_paths_fit_a_phone(browser, given):
    found = Opened(browser, given["path_to_report"], viewport=SIZES["phone"])
    query = found.page.locator("[data-browser='0'] details").first
    query.locator("summary").click()
    box = query.locator(".why").bounding_box()
    for path in query.locator(".why .path > *").all():
        own = path.bounding_box()
        assert box["x"] <= own["x"]
        assert own["x"] + own["width"] <= box["x"] + box["width"] + 1
    assert found.faults == []
    found.context.close()


def test_labels_keep_their_direction_and_are_no_markup(opened):
    assert not opened.page.evaluate("document.body.innerHTML.includes('<b>bold')")
    part = opened.page.locator("[data-browser='0']")
    part.get_by_label("Label of any shape").fill(HOSTILE[4])
    assert part.locator("summary bdi", has_text=HOSTILE[4]).count() > 0


def test_a_model_is_picked_in_the_legend_by_keyboard(opened):
    figure = opened.page.locator("[id='explore:figure']")
    opened.page.wait_for_selector("[id='explore:figure'] text[role=button]")
    entry = figure.locator("text[role=button]", has_text="walker")
    assert figure.locator("text[role=button]").count() == 4
    points = figure.locator("g.mark-symbol.role-mark.layer_1_marks path")

    def faint():
        marks = "marks => marks.filter(one => one.getAttribute('opacity') < 0.5).length"
        return points.evaluate_all(marks)

    assert faint() == 0
    opened.page.locator("[data-switch=intervals]").focus()
    for _ in range(60):
        if entry.evaluate("one => one === document.activeElement"):
            break
        opened.page.keyboard.press("Tab")
    assert entry.evaluate("one => getComputedStyle(one).outlineStyle") == "solid"
    opened.page.keyboard.press("Enter")
    opened.page.wait_for_selector("[id='explore:figure'] text[aria-pressed=true]")
    assert faint() == points.count() * 3 / 4
    opened.page.keyboard.press("Space")
    opened.page.wait_for_function("!document.querySelector('text[aria-pressed=true]')")
    assert faint() == 0


def test_figures_are_saved_as_svg_and_png(opened):
    figure = opened.page.locator("[id='explore:figure']")
    figure.locator("summary").click()
    for name, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with opened.page.expect_download() as download:
            figure.get_by_text(f"Save as {name}").click()
        assert download.value.suggested_filename.endswith(f".{name.lower()}")
        assert Path(download.value.path()).read_bytes().startswith(start)
    opened.faults = [one for one in opened.faults if not one.startswith(("blob:", "data:"))]


def test_figures_of_ranks_and_answer_sets_are_drawn_when_they_come_near(opened):
    for name in ("ranks", "sets"):
        part = opened.page.locator(f"[data-{name}='1']")
        part.scroll_into_view_if_needed()
        part.locator(".plot[data-drawn] svg").first.wait_for()
    for select in (opened.page.locator("[data-ranks='1'] select"),):
        select.select_option("negation")
        opened.page.locator(
            "[data-ranks='1'] [aria-label^='Share of hard answers of negation']"
        ).first.wait_for()


@pytest.mark.parametrize("size", SIZES)
def test_the_page_fits_its_window(browser, given, size):
    found = Opened(browser, given["path_to_report"], viewport=SIZES[size])
    widths = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    whole, window = found.page.evaluate(widths)
    assert whole <= window
    assert found.faults == []
    found.context.close()


@pytest.mark.parametrize(("scheme", "size"), [("light", "desk"), ("dark", "phone")])
def test_the_page_is_accessible(browser, little, scheme, size):
    found = Opened(browser, little, viewport=SIZES[size], color_scheme=scheme)
    found.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    # Pictures have a text in their stead; what they are drawn of would take most of the time.
    context = {"exclude": [["figure > svg"], [".plot svg g"]]}
    options = {
        "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"],
        "resultTypes": ["violations"],
    }
    result = Axe().run(found.page, context=context, options=options)
    faults = {
        one["id"]: [node["html"][:200] for node in one["nodes"]][:3]
        for one in result.response["violations"]
    }
    assert faults == {}, json.dumps(faults, indent=1)
    found.context.close()


def test_the_keyboard_reaches_every_control_and_shows_where_it_is(opened):
    opened.page.locator("[id='explore:link'] a").focus()
    asked = opened.page.locator("[id='explore:whole'] :is(select, input, button, summary)").count()
    seen = []
    for _ in range(asked + 20):
        opened.page.keyboard.press("Tab")
        seen.append(
            opened.page.evaluate(
                """() => [document.activeElement.closest("[id='explore:whole']") !== null
                    && document.activeElement.matches("select, input, button, summary"),
                  getComputedStyle(document.activeElement).outlineStyle]"""
            )
        )
    controls = [style for is_control, style in seen if is_control]
    assert len(controls) == asked
    assert "none" not in controls


def test_all_numbers_are_there_without_scripts(browser, given, rows):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"file://{given['path_to_report']}")
    assert page.locator("[id='explore:whole']").is_hidden()
    assert page.get_by_text("With JavaScript this page also has").is_visible()
    found = page.locator("section[aria-labelledby='toy-test'] table").first.inner_text()
    row = next(row for row in rows if (row["model"], row["shape"]) == ("walker", "2in"))
    assert shown(row) in found
    context.close()
