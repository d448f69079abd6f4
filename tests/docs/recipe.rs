//! Recipes for continuous integration: workflows of GitHub Actions, pipelines of GitLab.

use saphyr::{LoadableYamlNode, Yaml};

/// What a recipe executes, and which files it expects then.
#[derive(Debug, Default)]
pub struct Recipe {
    pub lines: Vec<String>,
    pub collected: Vec<String>,
}

/// Reads a recipe: each step's `run`, each job's `before_script` and `script`, and what uploads and artifacts name.
pub fn read(place: &str, text: &str) -> Recipe {
    let documents = Yaml::load_from_str(text).unwrap_or_else(|error| panic!("{place}: {error}"));
    let mut recipe = Recipe::default();
    documents.iter().for_each(|document| walk(document, &mut recipe));
    assert!(!recipe.lines.is_empty(), "{place}: nothing is executed");
    recipe
}

fn walk(node: &Yaml<'_>, recipe: &mut Recipe) {
    for item in node.as_sequence().into_iter().flatten() {
        walk(item, recipe);
    }
    for (key, value) in node.as_mapping().into_iter().flatten() {
        let into = match key.as_str() {
            Some("run" | "before_script" | "script") => &mut recipe.lines,
            Some("sarif_file" | "path" | "paths" | "junit") => &mut recipe.collected,
            _ => {
                walk(value, recipe);
                continue;
            }
        };
        let texts = value.as_str().into_iter();
        let texts = texts.chain(value.as_sequence().into_iter().flatten().filter_map(Yaml::as_str));
        into.extend(texts.flat_map(str::lines).map(|line| line.trim().to_owned()));
    }
}

#[test]
fn both_kinds_of_recipes_are_read() {
    let workflow = "jobs:\n  a:\n    steps:\n      - uses: b@1\n        with:\n          path: |\n            x\n            y\n      - run: |\n          one\n          two\n      - name: n\n        run: three\n";
    let recipe = read("here", workflow);
    assert_eq!(recipe.lines, ["one", "two", "three"]);
    assert_eq!(recipe.collected, ["x", "y"]);
    let pipeline = "job:\n  before_script: [zero]\n  script:\n    - one\n    - two: three\n    - four\n  artifacts:\n    paths: [x]\n    reports:\n      junit: y\n";
    let recipe = read("here", pipeline);
    assert_eq!(recipe.lines, ["zero", "one", "four"]);
    assert_eq!(recipe.collected, ["x", "y"]);
}
