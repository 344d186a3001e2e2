"""The page as people use it: in a real browser, by mouse and by keys, in two tabs, with a server that is killed."""

import json
import time

import pytest
from tests.generated_songs import LABELS, songs, write_songs
from tests.workbench.browsing import WHAT_IT_STARTS_WITH, Workbench, axe, chromium

from enstruct.cli.main import main
from enstruct.data.tables.read import read_table
from enstruct.workbench.contents import Contents
from enstruct.workbench.journal import Journal
from enstruct.workbench.label_sets import LabelSets
from enstruct.workbench.masks import Masks
from enstruct.workbench.review import Review, Suspect
from enstruct.workbench.row_order import RowOrder
from enstruct.workbench.server import serving
from enstruct.workbench.session import Session
from enstruct.workbench.written import Written

pytestmark = [pytest.mark.filterwarnings("ignore::ResourceWarning"), pytest.mark.xdist_group("browser")]
NAMES = sorted(LABELS)
SOON = 30_000
"""Milliseconds within which the page does what it is to do."""


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    path = chromium()
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=WHAT_IT_STARTS_WITH)
        yield opened
        opened.close()


@pytest.fixture(autouse=True)
def _ended():
    yield
    for each in [*Workbench.running]:
        each.kill()


@pytest.fixture
def page(browser):
    """A tab; nothing may go wrong in its programs."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(SOON)
    opened, wrong = context.new_page(), []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    yield opened
    context.close()
    assert not wrong


@pytest.fixture
def address(session):
    with serving(session, "token") as there:
        yield there


def until(truth):
    deadline = time.monotonic() + SOON / 1000
    while not truth():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def shown_row(page):
    return int(page.locator("h2 .row-number").first.inner_text())


def line(page, name):
    return page.locator(f'[data-label="{NAMES.index(name)}"]')


def test_ten_rows_by_mouse_and_by_keys(page, address, session):
    page.goto(address)
    line(page, "sad").wait_for()
    for number in range(10):
        until(lambda n=number: shown_row(page) == n)
        if number % 2:
            line(page, "sad").locator(".name").focus()
            page.keyboard.press("y")
        else:
            line(page, "sad").get_by_role("button", name="yes: sad").click()
        page.locator(".label.yes").first.wait_for()
        line(page, "calm").locator(".why").wait_for()  # the rule acts, and says so
        if number % 2:
            page.keyboard.press("Enter")
        else:
            page.locator("#finish").click()
    until(lambda: session.journal.n_done == 10)
    assert all(session.journal.row(row).cells["sad"] is True for row in range(10))
    assert all(session.journal.row(row).cells["calm"] is False for row in range(10))
    until(lambda: "10 of 30" in page.locator("#progress").inner_text())


def test_a_click_says_yes_another_no_a_third_nothing(page, address, session):
    page.goto(address)
    for expected in (True, False, None):
        line(page, "piano").locator(".name").click()
        until(lambda e=expected: session.journal.row(0).cells.get("piano") is e)
    assert len(session.journal) == 3


def test_all_other_labels_move_at_once(page, address, session, model, data):
    page.goto(address)
    line(page, "happy").wait_for()
    page.locator("#read").uncheck()
    line(page, "happy").get_by_role("button", name="yes: happy").click()
    page.locator(".label.yes").wait_for()
    told = model.predict_proba(data.X[[0]], known=[{"happy": True}])[0]

    def agrees():
        widths = [float(line(page, name).locator(".fill").evaluate("bar => bar.style.width").rstrip("%")) for name in NAMES]
        return max(abs(a / 100 - b) for a, b in zip(widths, told, strict=True)) < 0.01

    until(agrees)
    asked = model.ask(data.X[[0]], known=[{"happy": True}])[0]
    until(lambda: page.locator(".label.question .what").inner_text() == f"asked {asked}")


def test_undo_and_going_back(page, address, session):
    page.goto(address)
    line(page, "drums").get_by_role("button", name="no: drums").click()
    until(lambda: session.journal.row(0).cells == {"drums": False})
    page.keyboard.press("Enter")
    until(lambda: shown_row(page) == 1)
    page.keyboard.press("z")
    until(lambda: shown_row(page) == 0)
    assert session.journal.row(0).cells == {"drums": False}
    page.keyboard.press("z")
    until(lambda: session.journal.row(0).cells == {})
    until(lambda: page.locator(".label.no").count() == 0 and page.locator(".label").count() > 0)
    page.wait_for_timeout(200)
    page.keyboard.press("ArrowRight")
    until(lambda: shown_row(page) == 1)
    page.keyboard.press("ArrowLeft")
    until(lambda: shown_row(page) == 0)


def test_a_reload_shows_what_was_told(page, address, session):
    page.goto(address)
    line(page, "sad").get_by_role("button", name="yes: sad").click()
    until(lambda: session.journal.n_told == 1)
    page.reload()
    line(page, "sad").wait_for()
    until(lambda: "yes" in (line(page, "sad").get_attribute("class") or ""))


def test_two_tabs_at_once(browser, page, address, session):
    page.goto(address)
    line(page, "sad").wait_for()
    other = browser.new_context()
    try:
        second = other.new_page()
        second.goto(address)
        line(second, "sad").wait_for()
        assert shown_row(page) != shown_row(second)  # each has a row of its own
        row = shown_row(second)
        session.tell("x1", "somebody", row, {"sad": True}, False, None)
        line(second, "sad").get_by_role("button", name="no: sad").click()
        until(lambda: "Somebody has answered" in second.locator("#message").inner_text())
        assert session.journal.row(row).cells == {"sad": True}
        session.tell("x2", "somebody", shown_row(page), {"piano": True}, False, None)
        until(lambda: "yes" in (line(page, "piano").get_attribute("class") or ""))  # seen without a reload
    finally:
        other.close()


def test_a_text_is_never_markup(page, tmp_path):
    from enstruct.data.dataset import Dataset
    from enstruct.data.rows import as_indicator
    from enstruct.data.texts import as_array

    evil = '<script>document.title = "taken"</script><img src=x onerror="document.title=1">'
    names = ['<b onclick="x">bold</b>', "b</script>"]
    texts = [evil, "two"]
    data = Dataset(as_array(texts), as_indicator([[0, 0], [0, 0]]), ("text",), tuple(names))
    sets = LabelSets(names, texts, Contents(data), None, Written("t.jsonl", lambda: data))
    header = {"task": "labels", "data": "t", "rows": 2, "names": names, "content": "c"}
    session = Session(sets, Journal(tmp_path / "a.jsonl", header), RowOrder(2, "given"), "<i>t</i>")
    try:
        with serving(session, "token") as address:
            page.goto(address)
            page.locator(".what").first.wait_for()
            assert page.locator(".text").inner_text() == evil
            assert page.locator("#work script, #work img, #work b, #title i").count() == 0
            assert page.title() == "<i>t</i> – enstruct workbench"
            assert page.locator(".what").all_inner_texts() == names
    finally:
        session.close()


def test_a_server_killed_in_the_middle_loses_nothing(page, tmp_path):
    """Answers wait in the page, and are sent once the server is there again, which is at the same address."""
    write_songs(tmp_path / "new.csv", 12, labelled=False)
    command = ["label", "--new", "new.csv", "--labels", "a,b,c", "--out", "answers.jsonl", "--order", "given"]
    first = Workbench(*command, folder=tmp_path)
    page.goto(first.address)
    page.get_by_role("button", name="yes: a").click()
    until(lambda: (tmp_path / "answers.jsonl").read_text().count("\n") == 2)
    first.kill()
    page.get_by_role("button", name="yes: b").click()
    page.get_by_role("button", name="no: c").click()
    until(lambda: "does not answer" in page.locator("#message").inner_text())
    again = Workbench(*command, folder=tmp_path)
    assert again.address == first.address
    until(lambda: Journal.read(tmp_path / "answers.jsonl").row(0).cells == {"a": True, "b": True, "c": False})
    page.keyboard.press("Enter")
    until(lambda: Journal.read(tmp_path / "answers.jsonl").row(0).done)
    assert "1 of 12 rows finished" in again.stop()
    lines = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    acts = [line["act"] for line in lines if "act" in line]
    assert len(acts) == len(set(acts)) == 4


def test_review_by_mouse_and_keys(page, tmp_path):
    Y = songs(12)[1]
    data = read_table(write_songs(tmp_path / "songs.csv", 12), LABELS)
    suspects = [
        Suspect(3, "calm", bool(Y[3, 0]), 0.01, 0.4, "Goes with piano."),
        Suspect(5, "sad", bool(Y[5, 2]), 0.2, 0.3, "Few."),
    ]
    header = {"task": "labels", "data": "s", "rows": 12, "names": LABELS, "content": "c"}
    sets = LabelSets(
        LABELS, data.X, Contents(data), Y.astype(float), Written(str(tmp_path / "songs.csv"), lambda: data, tuple(LABELS))
    )
    review = Review(LABELS, Y.astype(float), suspects)
    session = Session(sets, Journal(tmp_path / "a.jsonl", header), RowOrder(12, "given"), "songs.csv", review=review)
    try:
        with serving(session, "token") as address:
            page.goto(address)
            page.get_by_text("Goes with piano.").wait_for()
            page.locator('[data-suspect="0"] [data-say=accept]').click()
            until(lambda: session.journal.row(3).cells == {"calm": not Y[3, 0]})
            until(lambda: shown_row(page) == 5)
            page.keyboard.press("k")
            until(lambda: session.journal.row(5).cells == {"sad": bool(Y[5, 2])})
            until(lambda: shown_row(page) == 5)
            page.locator(".given button").first.click()
            until(lambda: len(session.journal.row(5).cells) == 2)
            until(lambda: "2 of 2 suspects answered, 2 labels changed" in page.locator("#progress").inner_text())
            session.write(tmp_path / "corrected.csv")
            corrected = read_table(tmp_path / "corrected.csv", LABELS).Y.toarray()
            assert (corrected != Y).sum() == 2
            assert corrected[3, 0] != Y[3, 0]
        page.locator('[data-suspect="0"]').click()  # the server is gone, which is no error of the page's
        page.locator("#message", has_text="The server does not answer").wait_for()
    finally:
        session.close()


def test_a_told_span_moves_the_others(page, tmp_path):
    from tests.generated import make_sentences

    from enstruct import EnergySequenceTagger
    from enstruct.workbench.tag_sequences import TagSequences

    sentences, tags = make_sentences(60)
    tagger = EnergySequenceTagger("crf", hidden=8, embedding_dim=6, max_epochs=3, batch_size=8, random_state=0)
    labelling = TagSequences(tagger.fit(sentences, tags), [["mr", "W1", "x2", "."], ["in", "W3", "."]])
    header = {"task": "tags", "data": "t", "rows": 2, "names": labelling.names, "content": "c"}
    session = Session(labelling, Journal(tmp_path / "a.jsonl", header), RowOrder(2, "given"), "t")
    try:
        with serving(session, "token") as address:
            page.goto(address)
            page.locator('[data-word="1"]').click()
            page.locator('[data-word="2"]').click(modifiers=["Shift"])
            page.locator("[data-type=LOC]").click()
            until(lambda: session.journal.row(0).cells == {"1": "B-LOC", "2": "I-LOC"})
            until(lambda: page.locator(".word.told").count() == 2)
            page.keyboard.press("Enter")
            until(lambda: session.journal.row(0).done)
            until(lambda: "W3" in page.locator('[data-word="1"]').inner_text())
            page.locator('[data-word="1"]').click()
            page.keyboard.press("2")  # the second type, PER
            until(lambda: session.journal.row(1).cells.get("1") == "B-PER")
    finally:
        session.close()


def test_scribbles_move_the_mask(page, tmp_path, segmenter_and_pictures):
    labelling = Masks(*segmenter_and_pictures)
    header = {"task": "masks", "data": "t", "rows": 4, "names": labelling.names, "content": "c"}
    session = Session(labelling, Journal(tmp_path / "a.jsonl", header), RowOrder(4, "given"), "t")
    try:
        with serving(session, "token") as address:
            page.goto(address)
            until(lambda: page.locator("canvas.over").count() == 1)
            page.wait_for_timeout(300)
            box = page.locator("canvas.over").bounding_box()
            page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.2 * box["height"])
            page.mouse.down()
            page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.2 * box["height"], steps=5)
            page.mouse.up()
            until(lambda: "s0" in session.journal.row(0).cells)
            told = labelling.told(0, session.journal.row(0).cells)
            assert told[3, 6] == 1
            page.wait_for_timeout(300)
            page.keyboard.press("Enter")
            until(lambda: session.journal.row(0).done)
            from enstruct.workbench.masks import mask_of

            assert mask_of(session.journal.row(0).cells["mask"], (16, 16))[3, 6] == 1
    finally:
        session.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible(browser, address, scheme):
    program = axe()
    context = browser.new_context(bypass_csp=True, color_scheme=scheme, viewport={"width": 1280, "height": 900})
    try:
        page = context.new_page()
        page.goto(address)
        line(page, "sad").get_by_role("button", name="yes: sad").click()
        page.locator(".label.question").wait_for()
        page.add_script_tag(content=program)
        found = page.evaluate("axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']})")
        assert [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found["violations"]] == []
        assert len(found["passes"]) > 20
    finally:
        context.close()


def test_keys_alone_suffice(page, address, session):
    """From the address on, without a mouse: find a label, tell it, finish the row, read the keys."""
    page.goto(address)
    line(page, "sad").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("pia")
    until(lambda: page.locator(".label").count() == 1)
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("y")
    until(lambda: session.journal.row(0).cells == {"piano": True})
    page.keyboard.press("x")
    until(lambda: session.journal.row(0).cells == {})
    page.locator("[data-question]:not([data-question=''])").wait_for()
    page.keyboard.press("q")
    until(lambda: page.evaluate("document.activeElement.className") == "name")
    page.keyboard.press("?")
    page.get_by_role("heading", name="Keys").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    until(lambda: session.journal.row(0).done)


def test_the_keys_are_read_while_another_answers(page, address, session):
    """What comes meanwhile is drawn once they are closed, and the focus is back on the label it was on."""
    page.goto(address)
    line(page, "sad").wait_for()
    page.keyboard.press("ArrowDown")
    focused = page.evaluate("document.activeElement.closest('[data-label]').dataset.label")
    page.keyboard.press("?")
    page.get_by_role("heading", name="Keys").wait_for()
    with page.expect_response(lambda response: response.url.endswith("/answers")) as answers:
        session.tell("act", "another", 0, {"piano": True}, False, None)
    answers.value.finished()
    page.evaluate("new Promise((done) => setTimeout(done, 50))")
    page.keyboard.press("Escape")
    page.get_by_role("heading", name="Keys").wait_for(state="hidden")
    line(page, "piano").locator(".name[title='told: yes']").wait_for()
    assert page.evaluate("document.activeElement.closest('[data-label]')?.dataset.label") == focused
    page.keyboard.press("Enter")
    until(lambda: session.journal.row(0).done)


def test_keys_work_on_where_nothing_is_left_to_give_the_focus_back_to(page, address, session):
    """A row that is shown anew while the keys are read: the dialog's button does not keep the focus."""
    page.goto(address)
    line(page, "sad").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("?")
    page.get_by_role("heading", name="Keys").wait_for()
    page.evaluate("document.querySelectorAll('[data-label]').forEach((one) => one.remove())")
    page.keyboard.press("Escape")
    until(lambda: page.evaluate("document.activeElement.id") == "work")
    page.keyboard.press("Enter")
    until(lambda: session.journal.row(0).done)


def test_from_the_command_line(page, tmp_path, monkeypatch):
    """A model trained by the command, its page, and data from the answers."""
    monkeypatch.chdir(tmp_path)
    write_songs(tmp_path / "songs.csv", 80)
    write_songs(tmp_path / "new.csv", 12, seed=2, labelled=False)
    monkeypatch.setattr("enstruct.estimators.joint.PATIENCE", 1)
    train = ["train", "songs.csv", "--labels", "-6", "--out", "model", "--base", "binary-relevance", "--folds", "2"]
    assert main(train) == 0
    workbench = Workbench("label", "model", "new.csv", "--out", "answers.jsonl", folder=tmp_path)
    page.goto(workbench.address)
    page.locator("#finish").click()
    until(lambda: (tmp_path / "answers.jsonl").read_text().count('"done": true') == 1)
    assert "1 of 12 rows finished" in workbench.stop()
    assert main(["answers", "answers.jsonl", "--out", "labelled.csv"]) == 0
    assert (tmp_path / "labelled.csv").read_text().splitlines()[0] == f"f0,f1,f2,f3,{','.join(LABELS)}"


def test_a_report_is_read_without_a_server(browser, tmp_path, monkeypatch):
    """In light and dark, with scripts switched off, and nothing is fetched; what judges pages finds nothing."""
    program = axe()
    monkeypatch.chdir(tmp_path)
    write_songs(tmp_path / "songs.csv", 80)
    monkeypatch.setattr("enstruct.estimators.joint.PATIENCE", 1)
    assert main(["train", "songs.csv", "--labels", "-6", "--out", "m", "--base", "binary-relevance", "--folds", "2"]) == 0
    assert main(["report", "m", "songs.csv", "--labels", "-6", "--out", "report.html"]) == 0
    for scheme in ("light", "dark"):
        asked = []
        context = browser.new_context(bypass_csp=True, color_scheme=scheme)
        try:
            page = context.new_page()
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.goto((tmp_path / "report.html").as_uri())
            assert len(asked) == 1
            assert page.locator("script").count() == 0
            assert page.get_by_role("heading", name="Calibration").is_visible()
            page.add_script_tag(content=program)
            found = page.evaluate("axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']})")
            assert [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found["violations"]] == []
        finally:
            context.close()


def test_an_answer_that_is_cut_short_is_none(page, address):
    """As of a server that ended while it gave one."""
    page.goto(address)
    until(lambda: page.locator("ul.labels li").count() > 0)
    page.route("**/answers", lambda route: route.fulfill(status=200, content_type="application/json", body='{"p": [0.'))
    page.get_by_role("button", name="yes:").first.click()
    until(lambda: "does not answer" in page.locator("#message").inner_text())
    page.unroute("**/answers")
