#!/usr/bin/env python3
"""An adapter by the handbook's protocol, with a few rules in the place of an agent."""

import json
import sys

request = json.load(sys.stdin)
if request["protocol_version"] != 1:
    sys.exit("this adapter speaks version 1")
prompt, skill = request["prompt"], request["skill"]
note = "note" in prompt
events = []
if not note:
    output = "404 means that the page was not found."
elif skill is None:
    output = "This week the search index moved to the new host, and the load test is still to do."
else:
    events.append({"type": "skill_loaded", "name": skill["name"]})
    colour = "red" if "blocked" in prompt else "green"
    output = f"STATUS: {colour}\nDone: the index moved.\nNext: the load test."
print(json.dumps({"output": output, "events": events, "usage": {"input_tokens": len(prompt), "output_tokens": len(output)}}))
