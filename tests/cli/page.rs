//! The HTML page in headless Chromium: it loads without errors, steps, filters, and shows the right events.

use crate::command::witness;
use crate::traces::folder;
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// What `scripts/setup` installs, else what else may be there.
const BROWSERS: [&str; 4] = [
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
];

const SOURCE: &str = "int ready, value, count;\n\nvoid produce(void)\n{\n    lock(&m);\n    value = 7;\n    unlock(&m);\n    ready = 1;\n}\n\nvoid consume(void)\n{\n    lock(&m);\n    use(value < 8 && value > 6);\n    unlock(&m);\n    use(ready);\n}\n";

/// Notes what goes wrong while the page loads; the page's policy allows no script from elsewhere, but this one is in
/// it.
const BEFORE: &str = "<script>window.problems = [];\
    addEventListener('error', (e) => problems.push('error: ' + e.message));\
    addEventListener('securitypolicyviolation', (e) => problems.push('policy: ' + e.blockedURI));</script>";

/// Presses keys and writes down what is there then.
const BEHIND: &str = r#"<script>{
    const press = (key) => document.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    const current = () => document.querySelector('.row.current')?.dataset.event ?? null;
    const visible = () => document.querySelectorAll('.pairs tbody tr:not([hidden])').length;
    const panel = () => document.querySelector('aside.source').textContent;
    const rows = [...document.querySelectorAll('.row.step')];
    const seen = {
        events: rows.map((row) => Number(row.dataset.event)),
        cards: [...document.querySelectorAll('.race-row .card')].map((card) => Number(card.dataset.event)),
        arrows: [...document.querySelectorAll('.arrow')].map((a) => [a.classList[1], a.dataset.from, a.dataset.to].join(' ')),
        locks: [...document.querySelectorAll('rect.lock')].map((l) => [l.dataset.name, l.dataset.from, l.dataset.to].join(' ')),
        drawn: [...document.querySelectorAll('svg .arrow, svg .lock, svg line, svg circle')]
            .every((shape) => { const box = shape.getBoundingClientRect(); return box.width + box.height > 0; }),
        at_first: [current(), panel()],
    };
    press('j'); seen.j = current();
    press('ArrowDown'); seen.jj = current();
    seen.future = document.querySelectorAll('.row.future').length;
    press('k'); seen.jjk = current();
    press('k'); press('k'); seen.top = current();
    for (let n = 0; n < 7; n++) press('j');
    seen.read = [current(), panel(), document.querySelectorAll('.arrow.lit').length];
    seen.marked = document.querySelector('aside.source .marked').textContent;
    press('End'); seen.end = [current(), panel()];
    press('j'); seen.past = current();
    press('Home'); seen.home = current();
    press('Escape'); seen.escaped = [current(), document.querySelectorAll('.stepping').length];
    press('n'); press('p'); press('x');
    const search = document.querySelector('input[type=search]');
    const filter = (text) => { search.value = text; search.dispatchEvent(new Event('input', { bubbles: true })); return visible(); };
    seen.filtered = [visible(), filter('consume ready'), filter('no such thing'), filter('')];
    const box = document.querySelector('input[name=refuted]');
    box.click(); seen.unchecked = visible();
    const color = () => getComputedStyle(document.body).backgroundColor;
    const theme = document.getElementById('theme');
    theme.click(); const light = color(); theme.click(); seen.themes = light !== color();
    seen.keys_on_top = Number(getComputedStyle(document.querySelector('footer')).zIndex) > 2;
    seen.resources = performance.getEntriesByType('resource').length;
    seen.problems = window.problems;
    const result = document.createElement('pre');
    result.id = 'result'; result.textContent = JSON.stringify(seen);
    document.body.append(result);
}</script>"#;

/// Thread 1 produces, thread 2 consumes; `value` is guarded, `ready` is not. Positions are lines of the source.
fn trace(folder: &Path) {
    let source = folder.join("queue.c");
    fs::write(&source, SOURCE).expect("a source");
    let mut text = String::from("{\"trace\":{\"version\":1}}\n");
    for parent in ["null", "0", "0"] {
        writeln!(text, "{{\"thread\":{{\"name\":null,\"parent\":{parent},\"os_id\":0}}}}").expect("a string");
    }
    writeln!(
        text,
        "{}",
        json!({"object": {"kind": "Mutex", "addr": 0, "name": "m", "initial": 0}})
    )
    .expect("a string");
    for pc in 1..=17 {
        let function = if pc < 10 { "produce" } else { "consume" };
        let row = json!({"source": {"pc": pc, "function": function, "file": source, "line": pc}});
        writeln!(text, "{row}").expect("a string");
    }
    for (name, addr) in [("value", 16), ("ready", 32)] {
        writeln!(text, "{}", json!({"variable": {"addr": addr, "size": 4, "name": name}})).expect("a string");
    }
    let mut event = |thread: u32, pc: u32, op: Value| {
        writeln!(
            text,
            "{}",
            json!({"event": {"thread": thread, "pc": pc, "stack": 0, "op": op}})
        )
        .expect("a string");
    };
    let access = |kind: &str, addr: u32, value: u32| json!({kind: {"mem": {"addr": addr, "size": 4}, "value": value}});
    event(0, 0, json!({"Fork": {"child": 1}}));
    event(0, 0, json!({"Fork": {"child": 2}}));
    event(1, 3, json!("Begin"));
    event(1, 5, json!({"Acquire": {"lock": 0}}));
    event(1, 6, access("Write", 16, 7));
    event(1, 7, json!({"Release": {"lock": 0}}));
    event(1, 8, access("Write", 32, 1));
    event(2, 11, json!("Begin"));
    event(2, 13, json!({"Acquire": {"lock": 0}}));
    event(2, 14, access("Read", 16, 7));
    event(2, 15, json!({"Release": {"lock": 0}}));
    event(2, 16, access("Read", 32, 1));
    text += "{\"end\":{\"Exited\":0}}\n";
    fs::write(folder.join("trace.jsonl"), text).expect("a trace");
}

/// The page after its scripts have run.
fn loaded(page: &Path) -> String {
    let chosen = std::env::var("TEST_BROWSER").ok();
    let names = chosen.iter().map(String::as_str).chain(BROWSERS);
    let browser = names.into_iter().find(|name| {
        let version = Command::new(name)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        version.is_ok_and(|status| status.success())
    });
    let browser = browser.unwrap_or_else(|| {
        panic!("no Chromium to test the HTML page in: scripts/setup installs one, or name it in TEST_BROWSER")
    });
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--window-size=1500,1200",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", page.with_extension("profile").display()))
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .output()
        .expect("the browser starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_page_loads_steps_and_filters_and_shows_the_schedule() {
    let folder = folder("page");
    trace(&folder);
    witness(
        &folder,
        &[
            "analyze",
            "trace.jsonl",
            "--source-root",
            ".",
            "--report",
            "html=page.html",
        ],
    )
    .status(66);
    let page = fs::read_to_string(folder.join("page.html")).expect("a page");
    assert!(
        !page.contains("http:") && !page.contains("https:"),
        "the page names nothing outside of itself"
    );
    let tested =
        page.replacen("<head>", &format!("<head>{BEFORE}"), 1)
            .replacen("</body>", &format!("{BEHIND}</body>"), 1);
    fs::write(folder.join("tested.html"), tested).expect("a file");
    let after = loaded(&folder.join("tested.html"));
    let result = after
        .split_once("<pre id=\"result\">")
        .and_then(|(_, rest)| rest.split_once("</pre>"));
    let (result, _) = result.unwrap_or_else(|| panic!("the page's script did not come to its end: {after}"));
    let result = result.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let seen: Value = serde_json::from_str(&result).expect("JSON");

    assert_eq!(seen["problems"], json!([]));
    assert_eq!(seen["resources"], 0);
    // Thread 1 stops before it writes `ready`; the row of the race stands for both accesses.
    assert_eq!(seen["events"], json!([0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11]));
    assert_eq!(seen["cards"], json!([6, 11]));
    assert_eq!(
        seen["arrows"],
        json!(["fork 1 3", "fork 2 7", "reads-from 5 9", "hand-over 6 8"])
    );
    assert_eq!(seen["locks"], json!(["mutex m 4 5", "mutex m 8 9"]));
    assert_eq!(seen["drawn"], true);
    let panel = |at: &Value| at[1].as_str().expect("the panel's text").to_owned();
    assert!(seen["at_first"][0].is_null());
    for text in [
        "Race: writes ready = 1 — reads ready",
        "queue.c:8",
        "queue.c:16",
        "    ready = 1;",
        "    use(ready);",
    ] {
        assert!(panel(&seen["at_first"]).contains(text), "{text}: {}", seen["at_first"]);
    }
    assert_eq!(
        (&seen["j"], &seen["jj"], &seen["jjk"], &seen["top"]),
        (&json!("0"), &json!("1"), &json!("0"), &json!("0"))
    );
    assert_eq!(seen["future"], 9);
    assert_eq!(seen["read"][0], "8");
    assert!(
        panel(&seen["read"]).contains("thread 2 locks mutex m"),
        "{}",
        seen["read"]
    );
    assert!(
        panel(&seen["read"]).contains("step 8 of 11 · thread 2 holds mutex m"),
        "{}",
        seen["read"]
    );
    assert_eq!(seen["read"][2], 1, "the hand-over that leads here is lit");
    assert_eq!(seen["marked"], "13    lock(&m);\n");
    assert_eq!(
        (&seen["end"][0], &seen["past"], &seen["home"]),
        (&json!("11"), &json!("11"), &json!("0"))
    );
    assert_eq!(panel(&seen["end"]), panel(&seen["at_first"]));
    assert_eq!(seen["escaped"], json!([null, 0]));
    assert_eq!(seen["filtered"], json!([2, 1, 0, 2]));
    assert_eq!(seen["unchecked"], 1);
    assert_eq!(seen["themes"], true);
    assert_eq!(seen["keys_on_top"], true);
}

#[test]
fn what_is_drawn_is_in_the_lane_of_its_thread() {
    let folder = folder("page_lanes");
    witness(
        &folder,
        &["generate", "-o", "trace.bin", "--events", "10000", "--threads", "8"],
    )
    .status(0);
    let arguments = [
        "analyze",
        "trace.bin",
        "--report",
        "html=page.html",
        "--report",
        "perfetto=r.json",
        "--explanations",
        "1",
    ];
    witness(&folder, &arguments).status(66);
    let page = fs::read_to_string(folder.join("page.html")).expect("a page");
    let page = page.split("<script").next().expect("the page before its script");
    let (mut as_recorded, mut drawn) = (0, 0);
    for race in page.split("<section class=\"race\"").skip(1) {
        let heads: Vec<&str> = race
            .split("<div class=\"head\"")
            .skip(1)
            .filter_map(|head| between(head, ">", "<"))
            .collect();
        assert!(heads.len() >= 2, "two threads race: {heads:?}");
        for bar in race.split("<rect class=\"lock").skip(1) {
            let thread = between(bar, "data-thread=\"", "\"").expect("a thread");
            assert!(heads.contains(&thread), "{thread} has no lane among {heads:?}");
            drawn += 1;
        }
        as_recorded += usize::from(race.contains("events, as recorded"));
    }
    assert!(
        as_recorded > 0 && drawn > 0,
        "the case is not there: {as_recorded}, {drawn}"
    );
    let chrome: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("r.json")).expect("a file")).expect("JSON");
    let events = chrome["traceEvents"].as_array().expect("events");
    let lane = |event: &Value| (event["pid"].as_u64(), event["tid"].as_u64());
    let named: Vec<_> = events
        .iter()
        .filter(|event| event["name"] == "thread_name")
        .map(lane)
        .collect();
    assert!(
        events
            .iter()
            .all(|event| event["name"] == "process_name" || named.contains(&lane(event)))
    );
}

/// What stands between two texts.
fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    text.split_once(from)?.1.split(to).next()
}

#[test]
fn names_are_text_and_nothing_else() {
    let folder = folder("page_names");
    let trace = "T0|fork(T1)|<b>a</b>.c:1\nT0|w(</script><script>alert(1)</script>)|2\nT1|w(</script><script>alert(1)</script>)|3\n";
    fs::write(folder.join("names.std"), trace).expect("a file");
    witness(&folder, &["analyze", "names.std", "--report", "html=page.html"]).status(66);
    let page = fs::read_to_string(folder.join("page.html")).expect("a page");
    assert!(
        !page.contains("<script>alert") && page.contains("&lt;script&gt;alert(1)"),
        "{page}"
    );
}
