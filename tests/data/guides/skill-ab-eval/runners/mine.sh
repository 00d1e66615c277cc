# A runner in skill-ab-eval's form: the prompt is in $PROMPT, the answer goes to standard output.
case "$PROMPT" in
  *"tag and a branch"*) echo "A branch moves with each commit, a tag stays." ;;
  *"area: "*) echo "area: client, guard against an empty list" ;;
  *) echo "Fixed the bug." ;;
esac
