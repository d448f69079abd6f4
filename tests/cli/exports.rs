//! Reports for other programs: each is read again, and says what the results say.

use crate::command::witness;
use crate::traces::{folder, heap, hidden_race};
use serde_json::Value;
use serde_sarif::sarif;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// All reports of one analysis.
struct Reports {
    sarif: String,
    junit: String,
    github: String,
    csv: String,
    chrome: Value,
    results: Value,
}

fn reports(name: &str, write: fn(&Path)) -> Reports {
    let folder = folder(&format!("exports-{name}"));
    write(&folder.join("trace.bin"));
    let said = witness(
        &folder,
        &[
            "analyze",
            "trace.bin",
            "--source-root",
            "/src",
            "--report",
            "sarif=r.sarif",
            "--report",
            "junit=r.xml",
            "--report",
            "github=r.txt",
            "--report",
            "csv=r.csv",
            "--report",
            "perfetto=r.json",
            "--report",
            "json=results.json",
            "--report",
            "text=text.txt",
        ],
    )
    .status(66);
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(
        said.stdout,
        read("text.txt"),
        "the text is printed also where other reports are written"
    );
    Reports {
        sarif: read("r.sarif"),
        junit: read("r.xml"),
        github: read("r.txt"),
        csv: read("r.csv"),
        chrome: serde_json::from_str(&read("r.json")).expect("trace events"),
        results: serde_json::from_str(&read("results.json")).expect("results"),
    }
}

/// Nothing is lost when the types of the schema read it and write it again: each property is one of the schema, in
/// the right place and of the right type, and none that is required is missing.
fn schema_conforming(text: &str) -> sarif::Sarif {
    let log: sarif::Sarif = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let (theirs, ours) = (
        serde_json::to_value(&log).expect("JSON"),
        serde_json::from_str::<Value>(text).expect("JSON"),
    );
    assert_eq!(theirs, ours);
    log
}

#[test]
fn sarif_conforms_to_its_schema_and_to_the_limits_of_code_scanning() {
    for (name, write) in [("sarif-heap", heap as fn(&Path)), ("sarif-hidden", hidden_race)] {
        let reports = reports(name, write);
        let log = schema_conforming(&reports.sarif);
        let value: Value = serde_json::from_str(&reports.sarif).expect("JSON");
        assert_eq!(value["version"], "2.1.0");
        assert_eq!(log.runs.len(), 1);
        let run = &value["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
        let results = run["results"].as_array().expect("results");
        let races = reports.results["races"].as_array().expect("races");
        assert_eq!(results.len(), races.len());
        assert!(results.len() <= 5_000 && reports.sarif.len() < 10 << 20);
        for (result, race) in results.iter().zip(races) {
            let rule = &rules[result["ruleIndex"].as_u64().expect("an index") as usize];
            assert_eq!(rule["id"], result["ruleId"]);
            assert_eq!(result["partialFingerprints"]["witnessRace/v1"], race["id"]);
            assert_eq!(result["occurrenceCount"], race["count"]);
            // A level other than none needs the kind fail (SARIF 2.1.0, section 3.27.10).
            assert_eq!((&result["kind"], &result["level"]), (&"fail".into(), &"error".into()));
            let place = &result["locations"][0]["physicalLocation"];
            assert_eq!(place["artifactLocation"]["uri"], "demo.c");
            assert_eq!(place["artifactLocation"]["uriBaseId"], "%SRCROOT%");
            let steps: usize = code_flows(result).iter().map(|flow| flow.len()).sum();
            assert!(steps > 0 && steps <= 1_000, "{steps} steps");
        }
        assert_eq!(run["originalUriBaseIds"]["%SRCROOT%"]["uri"], "file:///src/");
    }
}

/// The locations of each code flow, in the order of the schedule; checks that each thread's are in that order too.
fn code_flows(result: &Value) -> Vec<Vec<&Value>> {
    let flows = result["codeFlows"].as_array().expect("code flows");
    let order = |location: &Value| location["executionOrder"].as_u64().expect("a place in the schedule");
    let flows = flows.iter().map(|flow| {
        let mut all = Vec::new();
        for thread in flow["threadFlows"].as_array().expect("thread flows") {
            let locations = thread["locations"].as_array().expect("locations");
            assert!(locations.is_sorted_by_key(order));
            all.extend(locations);
        }
        all.sort_by_key(|location| order(location));
        all
    });
    flows.collect()
}

#[test]
fn a_code_flow_is_the_schedule_thread_by_thread_and_once_more_flat() {
    let reports = reports("code_flow", hidden_race);
    let value: Value = serde_json::from_str(&reports.sarif).expect("JSON");
    let result = &value["runs"][0]["results"][0];
    let threads = result["codeFlows"][0]["threadFlows"].as_array().expect("thread flows");
    let names: Vec<_> = threads
        .iter()
        .map(|thread| thread["id"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["thread 0 'main'", "thread 1 'left'", "thread 2 'right'"]);
    let [by_thread, flat] = &code_flows(result)[..] else {
        panic!("two code flows");
    };
    let texts = |flow: &[&Value]| -> BTreeSet<String> {
        flow.iter()
            .map(|location| location["location"]["message"]["text"].to_string())
            .collect()
    };
    assert_eq!(texts(by_thread), texts(flat));
    let essential: Vec<_> = flat
        .iter()
        .filter(|location| location["importance"] == "essential")
        .collect();
    let [a, b] = essential[..] else {
        panic!("the racing pair, and nothing else, is essential: {essential:?}");
    };
    // Nothing orders the two, and both come after everything else: 47 events are before them.
    assert_eq!((&a["executionOrder"], &b["executionOrder"]), (&48.into(), &48.into()));
    let line = |location: &Value| location["location"]["physicalLocation"]["region"]["startLine"].as_u64();
    assert_eq!((line(a), line(b)), (Some(31), Some(24)));
}

#[test]
fn junit_counts_its_cases() {
    let reports = reports("junit", heap);
    let document = roxmltree::Document::parse(&reports.junit).expect("XML");
    let suite = document
        .descendants()
        .find(|node| node.has_tag_name("testsuite"))
        .expect("a suite");
    let cases: Vec<_> = suite.children().filter(|node| node.has_tag_name("testcase")).collect();
    let failed = |case: &&roxmltree::Node<'_, '_>| case.children().any(|child| child.has_tag_name("failure"));
    let failures = cases.iter().filter(failed).count();
    assert_eq!(suite.attribute("tests"), Some(&*cases.len().to_string()));
    assert_eq!(suite.attribute("failures"), Some(&*failures.to_string()));
    assert_eq!(failures, reports.results["races"].as_array().expect("races").len());
    assert!(cases.len() > failures, "a refuted pair is a test that passes");
    let failure = document
        .descendants()
        .find(|node| node.has_tag_name("failure"))
        .expect("a failure");
    let text = failure.text().expect("a text");
    assert!(
        text.contains("Schedule (") && text.contains("replay: witness replay trace.bin --witness 1"),
        "{text}"
    );
}

#[test]
fn no_two_cases_of_junit_have_one_name() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("junit-names");
    fs::create_dir_all(&folder).expect("a folder");
    // Two accesses on each of two lines: four pairs at one pair of places, of which one races.
    let lines = [
        "T0|fork(T1)|a.c:9",
        "T0|r(V1)|a.c:1:5",
        "T0|w(V1)|a.c:1:9",
        "T1|r(V1)|a.c:2:5",
        "T1|w(V1)|a.c:2:9",
    ];
    fs::write(folder.join("t.std"), lines.join("\n")).expect("a file");
    witness(&folder, &["analyze", "t.std", "--report", "junit=r.xml"]).status(66);
    let text = fs::read_to_string(folder.join("r.xml")).expect("a report");
    let document = roxmltree::Document::parse(&text).expect("XML");
    let cases = document.descendants().filter(|node| node.has_tag_name("testcase"));
    let mut names: Vec<_> = cases
        .map(|case| (case.attribute("classname"), case.attribute("name")))
        .collect();
    assert!(names.len() > 1, "{text}");
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all, "{text}");
}

#[test]
fn github_gets_an_error_at_each_race() {
    let reports = reports("github", heap);
    let races = reports.results["races"].as_array().expect("races").len();
    assert_eq!(reports.github.lines().count(), races);
    for line in reports.github.lines() {
        assert!(line.starts_with("::error file=demo.c,line="), "{line}");
        assert!(
            line.contains("title=data race::") && line.contains("%0Awitness replay trace.bin --witness "),
            "{line}"
        );
    }
}

#[test]
fn chrome_trace_has_a_lane_for_each_thread_and_arrows_that_meet_their_steps() {
    let reports = reports("chrome", heap);
    let events = reports.chrome["traceEvents"].as_array().expect("events");
    let text = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
    let number = |event: &Value, key: &str| event[key].as_u64().unwrap_or_else(|| panic!("{key} of {event}"));
    let mut lanes = BTreeSet::new();
    let mut slices: BTreeMap<(u64, u64), Vec<(u64, u64)>> = BTreeMap::new();
    for event in events {
        let lane = (number(event, "pid"), number(event, "tid"));
        match &*text(event, "ph") {
            "M" if text(event, "name") == "thread_name" => drop(lanes.insert(lane)),
            "X" => slices
                .entry(lane)
                .or_default()
                .push((number(event, "ts"), number(event, "dur"))),
            _ => {}
        }
    }
    assert_eq!(slices.keys().copied().collect::<BTreeSet<_>>(), lanes);
    let mut flows: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for event in events.iter().filter(|event| ["s", "f"].contains(&&*text(event, "ph"))) {
        let lane = (number(event, "pid"), number(event, "tid"));
        let at = number(event, "ts");
        let inside = |&(start, length): &(u64, u64)| start <= at && at <= start + length;
        assert!(slices[&lane].iter().any(inside), "{event} points at nothing");
        flows.entry(text(event, "id")).or_default().push(event);
    }
    for ends in flows.values() {
        assert_eq!(ends.iter().map(|end| text(end, "ph")).collect::<Vec<_>>(), ["s", "f"]);
        assert!(number(ends[0], "ts") < number(ends[1], "ts") && ends[0]["tid"] != ends[1]["tid"]);
    }
    let kinds: BTreeSet<String> = flows.values().map(|ends| text(ends[0], "name")).collect();
    let expected = ["fork", "lock hand-over", "wake"];
    for kind in expected {
        assert!(kinds.contains(kind), "{kind} is not among {kinds:?}");
    }
    let races = events.iter().filter(|event| event["cat"] == "race").count();
    assert_eq!(races, 2 * reports.results["races"].as_array().expect("races").len());
    let sections: Vec<_> = events
        .iter()
        .filter(|event| event["cat"] == "critical section")
        .collect();
    assert!(!sections.is_empty() && sections.len().is_multiple_of(2));
}

#[test]
fn a_report_can_take_the_place_of_the_text() {
    let folder = folder("exports-stdout");
    hidden_race(&folder.join("trace.bin"));
    let printed = witness(&folder, &["analyze", "trace.bin", "--report", "sarif"])
        .status(66)
        .stdout;
    schema_conforming(&printed);
    let json = witness(&folder, &["analyze", "trace.bin", "--report", "json=-"])
        .status(66)
        .stdout;
    assert_eq!(
        json,
        witness(&folder, &["analyze", "trace.bin", "--json"]).status(66).stdout
    );
    let both = witness(&folder, &["analyze", "trace.bin", "--json", "--report", "github"]).status(2);
    assert!(
        both.stderr.contains("two reports go to standard output"),
        "{}",
        both.stderr
    );
    let unknown = witness(&folder, &["analyze", "trace.bin", "--report", "pdf=x.pdf"]).status(2);
    assert!(
        unknown
            .stderr
            .contains("expected KIND=FILE, with a kind of text, json, sarif"),
        "{}",
        unknown.stderr
    );
    let nowhere = witness(&folder, &["analyze", "trace.bin", "--report", "json=no/such/folder/x"]).status(2);
    assert!(
        nowhere.stderr.contains("cannot write the report no/such/folder/x"),
        "{}",
        nowhere.stderr
    );
}

/// The rows of comma-separated values as RFC 4180 has them.
fn rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\r' if !quoted && letters.next_if_eq(&'\n').is_some() => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            letter => field.push(letter),
        }
    }
    assert!(
        row.is_empty() && field.is_empty() && !quoted,
        "the last row has no end: {text}"
    );
    rows
}

#[test]
fn csv_has_a_row_for_each_race_and_none_for_what_is_none() {
    for (name, write) in [("csv-heap", heap as fn(&Path)), ("csv-hidden", hidden_race)] {
        let reports = reports(name, write);
        let rows = rows(&reports.csv);
        let races = reports.results["races"].as_array().expect("races");
        assert_eq!(rows.len(), 1 + races.len(), "{}", reports.csv);
        let column = |name: &str| rows[0].iter().position(|known| known == name).expect("a column");
        for (row, race) in rows[1..].iter().zip(races) {
            assert_eq!(row.len(), rows[0].len(), "{row:?}");
            assert_eq!(row[column("trace")], "trace.bin");
            assert_eq!(row[column("id")], race["id"].as_str().expect("an id"));
            assert_eq!(row[column("pairs")], race["count"].to_string());
            assert_eq!(row[column("first file")], "demo.c");
            assert!(row[column("first line")].parse::<u32>().is_ok(), "{row:?}");
            assert!(
                row[column("replay")].starts_with("witness replay trace.bin --witness "),
                "{row:?}"
            );
        }
    }
}
