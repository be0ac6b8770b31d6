"""Takes the arguments of evalscope, sends ten questions to the server and writes a report as evalscope does."""

import argparse
import json
import sys
import time
import urllib.request
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("verb", choices=["eval"])
for name in ("model", "api-url", "api-key", "eval-type", "datasets", "dataset-args", "generation-config"):
    parser.add_argument(f"--{name}")
for name in ("work-dir", "limit"):
    parser.add_argument(f"--{name}")
parser.add_argument("--no-timestamp", action="store_true")
options = parser.parse_args()
generation = json.loads(options.generation_config)

if options.datasets == "remote":  # no name in .invalid exists, so this fails as on a host without network
    urllib.request.urlopen("http://datasets.invalid/remote.jsonl", timeout=600)
if options.datasets == "hanging":
    time.sleep(3600)
answers = []
for number in range(10):
    question = {"model": options.model, "messages": [{"role": "user", "content": f"question {number}"}], **generation}
    request = urllib.request.Request(
        f"{options.api_url}/chat/completions",
        json.dumps(question).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {options.api_key}"},
    )
    with urllib.request.urlopen(request, timeout=600) as answer:
        answers.append(json.load(answer)["choices"][0]["message"]["content"] == "right")
identity = {"name": "accuracy", "aggregation": "mean", "dimensions": {}}
other = {"name": "tokens", "aggregation": "mean", "dimensions": {}}
report = {
    "schema_version": 2,
    "dataset_name": options.datasets,
    "metrics": [{"identity": other, "score": 812.0}, {"identity": identity, "score": sum(answers) / 10}],
    "primary_metric_identity": identity,
}
if options.datasets == "scoreless":
    report["primary_metric_identity"] = None
if options.datasets == "silent":
    sys.exit(0)
name = options.model.rpartition("/")[2]
file = Path(options.work_dir) / "reports" / name / f"{options.datasets}.json"
file.parent.mkdir(parents=True)
file.write_text(json.dumps(report))
reviews = Path(options.work_dir) / "reviews" / name / f"{options.datasets}_default.jsonl"
reviews.parent.mkdir(parents=True)
scores = [{"value": {"acc": float(answer)}, "main_score_name": None} for answer in answers]
lines = [{"index": number, "sample_score": {"score": score}} for number, score in enumerate(scores)]
reviews.write_text("".join(json.dumps(line) + "\n" for line in lines))
