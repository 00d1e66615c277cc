#!/bin/sh
# Makes what examples/open-pull-request starts from: sh make-repository.sh FOLDER
#   FOLDER/parcels.git   the bare repository
#   FOLDER/gitconfig     settings of git that lead https://github.com/example/parcels to it
set -eu
folder=${1:?name a new folder}
if [ -e "$folder" ]; then
    echo "$folder is there already" >&2
    exit 2
fi
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
bare=$folder/parcels.git
printf '[url "%s"]\n\tinsteadOf = https://github.com/example/parcels\n' "$bare" >"$folder/gitconfig"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
git init -q -b main
git config user.name "Example"
git config user.email example@localhost
git config commit.gpgsign false

cat >CONTRIBUTING.md <<'TEXT'
# Contributing

- `main` is protected: it changes through pull requests only.
- Branches are called `fix/<issue>-<word>`, for example `fix/7-weights`.
- A commit says in its first line what it does, as an order, and ends with `Refs #<issue>`.
- `python3 -m unittest` has to pass before anything is pushed.
TEXT
cat >labels.py <<'TEXT'
"""Labels for parcels."""


def label(country: str, grams: int) -> str:
    """Country code in capitals and the weight, as 'DE 500 g'."""
    return f"{country} {grams} g"
TEXT
cat >test_labels.py <<'TEXT'
import unittest

from labels import label


class Labels(unittest.TestCase):
    def test_a_label_names_country_and_weight(self):
        self.assertEqual(label("DE", 500), "DE 500 g")
TEXT
printf '__pycache__/\n.requests/\n' >.gitignore
git add .
git commit -q -m "Print labels for parcels"
cd - >/dev/null
git clone -q --bare "$work" "$bare"
git -C "$bare" remote remove origin
