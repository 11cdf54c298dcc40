"""Half a program, cut in the middle of a string."""

def whole():
    return 1

def half():
    text = """this is
never closed {
