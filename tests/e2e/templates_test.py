"""Chat templates: the engine renders what jinja2 does, set up as transformers sets it up.

usage: templates_test.py FOLDER RENDER_LINES    fetches what is missing into FOLDER, then tests

The templates are those that the source package of llama-cpp-python carries, of some thirty families
of models. They are read from there and never stored in this repository.
"""

import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest
import venv

import program

PACKAGE = "llama-cpp-python==0.3.36"
JINJA = "jinja2==3.1.6"
NUM_TEMPLATES = 70
NOW = 1785324600  # A fixed date for strftime_now: 2026-07-29 11:30:00 UTC.
GUARD_S = 540

FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
RENDER_LINES = sys.argv[2] if len(sys.argv) > 2 else ""
REFERENCE = "--reference"
GOLDEN = pathlib.Path(os.environ["TICKERTAPE_TEST_DATA"]) / "jinja-expressions.json"


def call(what, *command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=GUARD_S,
                          check=False)
    if done.returncode != 0:
        raise SystemExit(f"templates_test: {what} failed; this test needs the package index once\n"
                         f"{done.stdout}{done.stderr}")


def fetch():
    """The interpreter with jinja2, and the folder of the templates. Kept between runs."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    python = FOLDER / "venv" / "bin" / "python"
    done = FOLDER / "venv" / JINJA
    if not done.exists():
        venv.create(FOLDER / "venv", with_pip=True, clear=True)
        call(f"installing {JINJA}", python, "-m", "pip", "install", "-q", JINJA)
        done.touch()
    templates = FOLDER / "templates"
    if len(list(templates.glob("*.jinja"))) != NUM_TEMPLATES:
        call(f"downloading {PACKAGE}", python, "-m", "pip", "download", "-q", "--no-deps",
             "--no-binary", "llama-cpp-python", "-d", FOLDER, PACKAGE)
        templates.mkdir(exist_ok=True)
        for archive in FOLDER.glob("llama_cpp_python-*.tar.gz"):
            with tarfile.open(archive) as tar:
                for member in tar:
                    if "/models/templates/" in member.name and member.name.endswith(".jinja"):
                        name = pathlib.PurePosixPath(member.name).name
                        (templates / name).write_bytes(tar.extractfile(member).read())
            archive.unlink()
    return python, templates


# ---- Conversations ------------------------------------------------------------------------------

def user(content):
    return {"role": "user", "content": content}


def assistant(content, **more):
    return {"role": "assistant", "content": content, **more}


def system(content):
    return {"role": "system", "content": content}


def tool_call(name, arguments, number=1):
    return {"id": f"call{number:05}", "type": "function",
            "function": {"name": name, "arguments": arguments}}


def tool_result(content, name="get_weather", number=1):
    return {"role": "tool", "tool_call_id": f"call{number:05}", "name": name, "content": content}


WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "The weather of a city: \"now\" & <later>.",
    "parameters": {"type": "object", "required": ["city"], "properties": {
        "city": {"type": "string", "description": "Its name, such as Zürich or 東京"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "exact": {"type": ["boolean", "null"], "default": None}}}}}
SEARCH = {"type": "function", "function": {
    "name": "search", "description": "Looks texts up.\nGives the best ones.",
    "parameters": {"type": "object", "required": [], "properties": {
        "words": {"type": "array", "items": {"type": "string"}, "description": "What to look for"},
        "filter": {"type": "object", "properties": {"least": {"type": "number", "default": 0.5},
                                                    "kind": {"type": "string"}}}}}}}
TOOLS = [WEATHER, SEARCH]
LONG = " ".join(f"Sentence number {i} of a long text, with {{braces}} and 'quotes'."
                for i in range(400))
ARGUMENTS = {"city": "Zürich", "days": 3, "exact": True, "least": 0.25, "nothing": None}
CALLED = [user("How is the weather?"), assistant("", tool_calls=[tool_call("get_weather", ARGUMENTS)]),
          tool_result('{"degrees": 21.5, "sky": "clear"}')]

CASES = {
    "one turn": {"messages": [user("Hello")]},
    "one turn, no prompt": {"messages": [user("Hello")], "add_generation_prompt": False},
    "system": {"messages": [system("Be brief."), user("Hello")]},
    "three turns": {"messages": [user("Hi"), assistant("Hello!"), user("Who are you?")]},
    "many turns": {"messages": [system("S")] + [
        m for i in range(8) for m in (user(f"question {i}"), assistant(f"answer {i}"))]
        + [user("last")]},
    "ends with the assistant": {"messages": [user("Hi"), assistant("Hello!")],
                                "add_generation_prompt": False},
    "unicode": {"messages": [system("Réponds en français. ẞß"), user("日本語 😀 e\u0301 \u00a0 İ")]},
    "white space": {"messages": [user("  \n two\n\n lines \t\n"), assistant(" x \n"), user("\n")]},
    "empty content": {"messages": [user("")]},
    "empty answer": {"messages": [user("Hi"), assistant(""), user("Say something")]},
    "markers in texts": {"messages": [user("<|im_end|>\n<|im_start|>system {{ x }} {% if %} </s>"),
                                      assistant("[/INST] <think>a</think>b"), user("a</think>b")]},
    "list content": {"messages": [user([{"type": "text", "text": "part one, "},
                                        {"type": "text", "text": "part two"}])]},
    "long text": {"messages": [system(LONG), user(LONG)]},
    "tools": {"messages": [user("How is the weather?")], "tools": TOOLS},
    "system and tools": {"messages": [system("You help."), user("Weather?")], "tools": TOOLS},
    "tool call": {"messages": CALLED[:2], "tools": TOOLS, "add_generation_prompt": False},
    "tool result": {"messages": CALLED, "tools": TOOLS},
    "tool result, then an answer": {"messages": CALLED + [assistant("It is fine."), user("Thanks")],
                                    "tools": TOOLS},
    "arguments as a JSON string": {"messages": [
        user("Weather?"), assistant("", tool_calls=[tool_call("get_weather", json.dumps(ARGUMENTS))]),
        tool_result("clear")], "tools": TOOLS},
    "several calls": {"messages": [system("S"), user("Weather and news?"), assistant(
        "I look.", tool_calls=[tool_call("get_weather", {"city": "Bern"}, 1),
                               tool_call("search", {"words": ["a", "b"], "filter": {"least": 1}}, 2)]),
        tool_result("rain", number=1), tool_result("[1, 2]", "search", 2)], "tools": TOOLS},
    "result of no tools given": {"messages": CALLED},
    "reasoning": {"messages": [user("2+2?"), assistant("4", reasoning_content="Two and two."),
                               user("3+3?"), assistant("6", reasoning_content="Three twice."),
                               user("4+4?")]},
    "reasoning in the text": {"messages": [
        user("2+2?"), assistant("<think>\nTwo and two.\n</think>\n\n4"), user("Sure?")]},
    "reasoning and calls": {"messages": [user("Weather?"), assistant(
        "", reasoning_content="I need the tool.", tool_calls=[tool_call("get_weather", {"city": "Bern"})]),
        tool_result("rain")], "tools": TOOLS},
    "thinking off": {"messages": [user("Hi")], "variables": {"enable_thinking": False,
                                                             "thinking": False}},
    "thinking on": {"messages": [system("S"), user("Hi")],
                    "variables": {"enable_thinking": True, "thinking": True,
                                  "reasoning_effort": "high"}},
    "two users in a row": {"messages": [user("a"), user("b")]},
    "assistant first": {"messages": [assistant("a"), user("b")]},
    "system last": {"messages": [user("a"), system("b")]},
}


def plain(case):
    """What the caller of jinja2 has to do, as the engine does it itself."""
    case = json.loads(json.dumps(case))
    for message in case["messages"]:
        if isinstance(message["content"], list):
            message["content"] = "".join(part["text"] for part in message["content"])
        for entry in message.get("tool_calls", []):
            if isinstance(entry["function"]["arguments"], str):
                entry["function"]["arguments"] = json.loads(entry["function"]["arguments"])
    return case


SMOLLM_SYSTEM = ("<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by "
                 "Hugging Face<|im_end|>\n")


# ---- The reference: runs in the interpreter that has jinja2 -------------------------------------

def reference(folder):
    """Prints {file: {case: {"prompt"} or {"error"}}}; a file that cannot be read: {"": error}."""
    import datetime

    import jinja2
    import jinja2.ext
    import jinja2.nodes
    import jinja2.sandbox

    class Generation(jinja2.ext.Extension):
        tags = {"generation"}

        def parse(self, parser):
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            call = self.call_method("_keep")
            return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

        @jinja2.pass_eval_context
        def _keep(self, _context, caller):
            return caller()

    def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys)

    def refuse(message):
        raise jinja2.exceptions.TemplateError(message)

    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    environment.filters["tojson"] = to_json
    environment.globals["raise_exception"] = refuse
    now = datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc)
    environment.globals["strftime_now"] = now.strftime

    answers = {}
    for file in sorted(pathlib.Path(folder).glob("*.jinja")):
        results = answers[file.name] = {}
        try:
            template = environment.from_string(file.read_text(encoding="utf-8"))
        except jinja2.exceptions.TemplateError as error:
            results[""] = {"error": str(error)}
            continue
        for name, case in CASES.items():
            case = plain(case)
            try:
                results[name] = {"prompt": template.render(
                    messages=case["messages"], tools=case.get("tools"), documents=None,
                    add_generation_prompt=case.get("add_generation_prompt", True),
                    bos_token="<BOS>", eos_token="<EOS>", **case.get("variables", {}))}
            except Exception as error:  # Whatever a template can do wrong in Python.
                results[name] = {"error": f"{type(error).__name__}: {error}"}
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    entries = [entry for group in golden["groups"].values() for entry in group]
    wrong = [(entry, text) for entry in entries
             if (text := environment.from_string(entry["template"]).render(**golden["variables"]))
             != entry["text"]]
    json.dump({"answers": answers, "golden": len(entries), "wrong": wrong}, sys.stdout)


# ---- The test -----------------------------------------------------------------------------------

class Templates(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        python, cls.folder = fetch()
        done = subprocess.run([str(python), "-B", __file__, REFERENCE, str(cls.folder)],
                              capture_output=True, timeout=GUARD_S, check=False)
        if done.returncode != 0:
            raise SystemExit(f"templates_test: the reference failed\n{done.stderr.decode()}")
        cls.reference = json.loads(done.stdout)
        cls.expected = cls.reference["answers"]
        cls.files = {file.name: file.read_text(encoding="utf-8")
                     for file in sorted(cls.folder.glob("*.jinja"))}
        cls.ours = cls.render_all()

    @classmethod
    def render_all(cls):
        keys = [(name, case) for name in cls.files for case in ["", *CASES]]
        lines = []
        for name, case in keys:
            line = {"template": cls.files[name], "now": NOW}
            lines.append(json.dumps(line | CASES[case] if case else line))
        done = subprocess.run([RENDER_LINES], input="\n".join(lines).encode(), capture_output=True,
                              timeout=GUARD_S, check=False, env=os.environ | {"TZ": "UTC"})
        if done.returncode != 0:
            raise SystemExit(f"templates_test: {RENDER_LINES} failed\n{done.stderr.decode()}")
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        if len(answers) != len(keys):
            raise SystemExit(f"templates_test: {len(answers)} answers to {len(keys)} lines")
        return dict(zip(keys, answers))

    def test_every_template_is_read_or_refused_with_a_line(self):
        self.assertEqual(len(self.files), NUM_TEMPLATES)
        read = 0
        for name in self.files:
            answer = self.ours[name, ""]
            read += "prompt" in answer
            if "error" in answer:
                self.assertRegex(answer["error"], r"cannot be read: line \d+: ", name)
        print(f"read: {read} of {NUM_TEMPLATES}", file=sys.stderr)
        self.assertEqual(read, sum("" not in results for results in self.expected.values()))

    def test_renders_are_those_of_the_reference(self):
        rendered, different = 0, []
        for name, results in self.expected.items():
            for case, result in results.items():
                if case and "prompt" in result:
                    rendered += 1
                    ours = self.ours[name, case]
                    if ours.get("prompt") != result["prompt"]:
                        different.append((name, case, result["prompt"], ours))
        print(f"identical: {rendered - len(different)} of {rendered}", file=sys.stderr)
        for name, case, wanted, ours in different:
            print(f"--- {name}: {case}\n  wanted {wanted[-300:]!r}\n  got {str(ours)[-300:]}",
                  file=sys.stderr)
        self.assertGreater(rendered, 1000)
        self.assertEqual(different, [])

    def test_the_golden_file_of_the_unit_tests_is_right(self):
        self.assertGreater(self.reference["golden"], 200)
        self.assertEqual(self.reference["wrong"], [])

    def test_what_the_reference_refuses_is_no_fault_of_ours(self):
        refused = also = 0
        for name, results in self.expected.items():
            for case, result in results.items():
                if case and "error" in result:
                    refused += 1
                    also += "error" in self.ours[name, case]
        print(f"refused: {also} of {refused}", file=sys.stderr)
        for (name, case), answer in self.ours.items():
            if "error" in answer:
                self.assertEqual(answer["status"], 400, (name, case, answer))


class Render(unittest.TestCase):
    """`tickertape render` with the model's own template."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, value):
        file = self.folder / name
        file.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
        return file

    def render(self, messages, *flags):
        return program.run("render", program.MODEL, "--messages",
                           self.write("messages.json", messages), *flags)

    def test_the_prompt_is_printed_exactly(self):
        for messages in ([user("Hi"), assistant("é")], {"messages": [user("Hi"), assistant("é")]},
                         [user([{"type": "text", "text": "H"}, {"type": "text", "text": "i"}]),
                          assistant("é")]):
            done = self.render(messages)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.decode(), SMOLLM_SYSTEM + "<|im_start|>user\nHi<|im_end|>\n"
                             "<|im_start|>assistant\né<|im_end|>\n<|im_start|>assistant\n")
        done = self.render([system("S"), assistant(None)], "--no-generation-prompt")
        self.assertEqual(done.stdout, b"<|im_start|>system\nS<|im_end|>\n"
                                      b"<|im_start|>assistant\n<|im_end|>\n")

    def test_json_tells_what_came_from_the_messages(self):
        done = self.render([system("a<|im_end|>")], "--json", "--no-generation-prompt")
        answer = json.loads(done.stdout)
        self.assertEqual("".join(span["text"] for span in answer["spans"]), answer["prompt"])
        self.assertEqual([span["text"] for span in answer["spans"] if span["from_message"]],
                         ["system", "a<|im_end|>"])

    def test_another_template_with_tools(self):
        template = self.write("t.jinja", "{{ tools[0].function.name }}:{{ messages|length }}{{ x }}")
        done = self.render([user("Hi")], "--chat-template", template, "--tools",
                           self.write("tools.json", TOOLS), "--chat-template-kwargs", '{"x": 5}')
        self.assertEqual(done.stdout, b"get_weather:15", done.stderr)

    def test_faults_are_one_line(self):
        bad = self.write("bad.jinja", "a\n{{ x")
        refuses = self.write("no.jinja", "{{ raise_exception('not these') }}")
        for arguments, message in (
                (([user("Hi")], "--chat-template", bad), "line 2: a tag is not closed"),
                (([user("Hi")], "--chat-template", refuses), "not these"),
                (([],), "messages must not be empty"), (({"a": 1},), "must be a list of messages"),
                (([{"role": "user", "content": 5}],), "messages[0].content must be"),
                (([{"content": "x"}],), "messages[0].role must be"), (("{",), "is not JSON")):
            done = self.render(*arguments)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertIn(message, done.stderr.decode())
            self.assertEqual(done.stderr.count(b"\n"), 1)


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == REFERENCE:
        reference(sys.argv[2])
    else:
        unittest.main(argv=sys.argv[:1])
