def greet(name: str) -> str:
    return f"Good morning, {name.strip()}!"
