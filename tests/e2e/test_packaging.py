# SPDX-License-Identifier: Apache-2.0
"""The image, the manifests and the unit: what they name exists, and the agent runs by them."""
import ctypes
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import python

python.needs("yaml")
python.needs("seccomp")
import seccomp  # noqa: E402
import yaml  # noqa: E402

import lib  # noqa: E402
from lib import check, equal, until  # noqa: E402
import sink  # noqa: E402
from test_metrics import Watched  # noqa: E402
import tls  # noqa: E402

PACKAGING = lib.ROOT / "packaging"
IMAGE_MAX_BYTES = 25 << 20


def _options(place):
    """{flag: is it a switch}, {variables}"""
    text = place.run("gpufl-agent", "--help").stdout
    flags = {m[1]: not m[2] for m in re.finditer(r"^  --([a-z-]+)(=)?", text, re.M)}
    return flags, set(re.findall(r"environment: (\w+)", text))


def an_image_holds_the_agent_and_what_it_needs(place):
    """Its root, entered as its user, without /proc, /dev or any other file, uploads over TLS."""
    if os.geteuid() != 0 or lib.SANITIZER:
        lib.skip("chroot takes root; a sanitizer's runtime is no part of the image")
    root = place.path / "root"
    subprocess.run([PACKAGING / "image-rootfs.sh", lib.BUILD, root], check=True, capture_output=True)
    size = sum(f.lstat().st_size for f in root.rglob("*") if f.is_file())
    check(size < IMAGE_MAX_BYTES, f"{size} bytes")
    bundle = root / "etc/ssl/certs/ca-certificates.crt"
    check(bundle.stat().st_size > 100_000, "certificates")
    equal([f for f in root.rglob("*") if f.is_file() and os.access(f, os.X_OK) and f.parent.name == "bin"],
          [root / "usr/bin/gpufl-agent"], "programs")
    os.chmod(place.path, 0o755)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    ours = tls.Authority(place)
    shutil.copy(ours.cert, bundle)
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n")  # as whatever runs images writes it
    session = lib.job(place, 0.2, logs=root / "var/log/gpufl")
    with tls.Front(backend, ours.issue("good")) as front:
        environment = {"GPUFL_SOURCE_FOLDER": "/var/log/gpufl", "GPUFL_HTTP_HOST": front.url,
                       "GPUFL_HTTP_TOKEN": lib.KEY, "GPUFL_AGENT_STATE_DIR": "/var/lib/gpufl-agent"}
        done = subprocess.run([shutil.which("chroot"), "--userspec=65532:65532", root, "/usr/bin/gpufl-agent",
                               "--exit-when-drained"], env=environment, capture_output=True, text=True,
                              timeout=60 * lib.SLOW, check=False)
        equal(done.returncode, 0, done.stderr)
    lib.same(backend, session)
    again = subprocess.run([PACKAGING / "image-rootfs.sh", lib.BUILD, place.path], capture_output=True, text=True,
                           check=False)
    check(again.returncode == 1 and "has no usr/bin/gpufl-agent" in again.stderr, "another directory is not overwritten")


def _profile(default):
    """The profile as a container's runtime loads it, with an action of ours for what it does not name."""
    profile = json.loads((PACKAGING / "seccomp.json").read_text())
    equal(profile["defaultAction"], "SCMP_ACT_ERRNO", "what it does not name")
    loaded = seccomp.SyscallFilter(default(profile["defaultErrnoRet"]))
    for rule in profile["syscalls"]:
        equal(rule["action"], "SCMP_ACT_ALLOW", "a rule")
        args = [seccomp.Arg(a["index"], getattr(seccomp, a["op"].removeprefix("SCMP_CMP_")), a["value"],
                            a.get("valueTwo", 0)) for a in rule.get("args", [])]
        for name in rule["names"]:
            loaded.add_rule(seccomp.ALLOW, name, *args)
    return loaded


def the_agent_works_under_the_images_filter(place):
    """A call that the profile does not name kills the agent here, where a container refuses it."""
    if lib.MEASURES_ITSELF:
        lib.skip("their runtimes call more")
    loaded = _profile(lambda _: seccomp.KILL_PROCESS)
    loaded.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")  # the C library takes clone then
    backend = lib.Backend(place, "--api-key", lib.KEY)
    ours = tls.Authority(place)
    token = place.path / "token"
    token.write_text("old")
    with tls.Front(backend, ours.issue("good")) as front:
        agent = Watched(place, front.url, f"--ca-file={ours.cert}", f"--token-file={token}", "--landlock=auto",
                        preexec_fn=loaded.load)
        session = lib.job(place, 0.2)
        until(lambda: "origin.hold" in agent.log(), "the old key is refused")
        token.write_text(lib.KEY)
        until(lambda: backend.complete(session.name), "uploaded")
        shutil.rmtree(session)
        agent.process.send_signal(signal.SIGHUP)
        until(lambda: "agent.reloaded" in agent.log(), "reloaded")
        done = place.run("gpufl-agent", "healthcheck", f"--listen={agent.address}", preexec_fn=loaded.load)
        equal(done.returncode, 0, done.stderr)
        agent.stop()
    check("landlock" in agent.log(), agent.log())


def the_filter_refuses_what_the_agent_never_does(place):
    """Each as a system call, with arguments that the kernel takes without the filter."""
    libc = ctypes.CDLL(None, use_errno=True)
    numbers = {name: seccomp.resolve_syscall(seccomp.Arch(), name) for name in
               ("ptrace", "mount", "unshare", "bpf", "keyctl", "socket", "clone", "ioctl", "getpid")}
    tries = {"ptrace": (0,), "mount": (0, 0, 0, 0, 0), "unshare": (0,), "bpf": (0, 0, 0), "keyctl": (0, -3, 0),
             "socket": (17, 3, 0), "clone": (0x10000000, 0), "ioctl": (0, 0x5412, 0), "getpid": ()}
    loaded = _profile(seccomp.ERRNO)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        loaded.load()
        for name, args in tries.items():
            if libc.syscall(numbers[name], *args) < 0 and ctypes.get_errno() == errno.ENOSYS:
                os.write(write, f"{name} ".encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as told:
        equal(set(told.read().split()), set(tries) - {"getpid"}, "what is refused")


def the_dockerfile_names_what_there_is(place):
    flags, variables = _options(place)
    text = (PACKAGING / "Dockerfile").read_text()
    equal(set(re.findall(r"\b(GPUFL_\w+)=", text)) - variables, set(), "variables")
    for path in re.findall(r"packaging/[\w.-]+", text):
        check((lib.ROOT / path).is_file(), path)
    check("USER 65532:65532" in text and text.rstrip().endswith('ENTRYPOINT ["/usr/bin/gpufl-agent"]'), "its end")
    script = (PACKAGING / "image-rootfs.sh").read_text()
    for path in ("/var/log/gpufl", "/var/lib/gpufl-agent", "65532"):
        check(path in text and path in script, path)


def _pods(name):
    for document in yaml.safe_load_all((PACKAGING / "kubernetes" / name).read_text()):
        if "template" in document.get("spec", {}):
            yield document, document["spec"]["template"]["spec"]


def manifests_run_the_agent_as_it_can_be_run(place):
    flags, _ = _options(place)
    found = {}
    for name, kind in (("job.yaml", "Job"), ("daemonset.yaml", "DaemonSet")):
        (document, pod), = _pods(name)
        equal(document["kind"], kind, name)
        equal(document["apiVersion"], {"Job": "batch/v1", "DaemonSet": "apps/v1"}[kind], name)
        equal(pod["automountServiceAccountToken"], False, "no token of the cluster")
        agent, = [c for c in pod.get("initContainers", []) + pod["containers"] if c["name"] == "gpufl-agent"]
        given = dict(a.removeprefix("--").split("=", 1) for a in agent["args"])
        equal(set(given) - set(flags), set(), "flags")
        security = agent["securityContext"]
        equal((security["readOnlyRootFilesystem"], security["allowPrivilegeEscalation"], security["capabilities"]),
              (True, False, {"drop": ["ALL"]}), "security")
        check(pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] > 0, "its user")
        mounts = {m["mountPath"]: m for m in agent["volumeMounts"]}
        check(not any("subPath" in m for m in mounts.values()), "a subPath is not updated")
        equal({m["name"] for m in mounts.values()} - {v["name"] for v in pod["volumes"]}, set(), "volumes")
        for flag in ("folder", "state-dir", "token-file"):
            check(any(given[flag].startswith(path) for path in mounts), f"{flag} is mounted")
        port = agent["ports"][0]["containerPort"]
        check(given["listen"].endswith(f":{port}"), "the port")
        probes = {k: v["httpGet"]["path"] for k, v in agent.items() if k.endswith("Probe")}
        equal(probes["livenessProbe"], "/healthz", "a restart does not mend a backend")
        check(set(probes.values()) <= {"/healthz", "/readyz"}, f"{probes}")
        found[name] = (agent, given, pod)
    agent, _, pod = found["job.yaml"]
    check(agent in pod["initContainers"] and agent["restartPolicy"] == "Always", "a native sidecar")
    check(pod["terminationGracePeriodSeconds"] > 25, "time to drain")
    told = {e["name"] for e in pod["containers"][0]["env"] if "valueFrom" in e}
    equal(told, {"GPUFL_POD_NAME", "GPUFL_POD_NAMESPACE", "GPUFL_NODE_NAME"}, "what the job is told of itself")
    shutil.rmtree(place.logs)  # each runs with those flags here
    for name, (_, given, _) in found.items():
        work = place.path / name
        (work / "logs").mkdir(parents=True, mode=0o700)
        (work / "token").write_text(lib.KEY)
        backend = lib.Backend(place, "--api-key", lib.KEY)
        given |= {"folder": work / "logs", "state-dir": work / "state", "token-file": work / "token",
                  "host": backend.url, "listen": "127.0.0.1:0"}
        session = lib.job(place, 0.1, logs=work / "logs")
        process = place.start("gpufl-agent", *(f"--{k}={v}" for k, v in given.items()))
        until(lambda b=backend, s=session: b.complete(s.name), name)
        process.terminate()
        equal(process.wait(20 * lib.SLOW), 0, name)
        backend.kill()


def the_unit_names_what_there_is(place):
    _, variables = _options(place)
    text = (PACKAGING / "systemd/gpufl-agent.service").read_text()
    settings = (PACKAGING / "systemd/agent.env").read_text()
    used = set(re.findall(r"\b(GPUFL_\w+)=", settings))
    check(used and used <= variables, f"{used}")
    for line in ("Type=notify", "WatchdogSec=", "LoadCredential=token:/etc/gpufl/token", "StateDirectory=",
                 "ConditionFileNotEmpty=/etc/gpufl/token", "StartLimitIntervalSec=0", "DynamicUser=yes",
                 "PrivateUsers=no"):  # else all users would be one, with one share
        check(line in text, line)
    folder = re.search(r"GPUFL_SOURCE_FOLDER=(\S+)", settings)[1]
    check(f"d {folder} " in (PACKAGING / "systemd/gpufl-agent.tmpfiles").read_text(), "the folder is made")
    check(f"ReadWritePaths=-{folder}" in text, "and may be written")


def _directives(unit):
    """{name: its last value}, {lines}"""
    text = (PACKAGING / "systemd" / unit).read_text()
    return dict(re.findall(r"^(\w+)=(.*)$", text, re.M)), set(re.findall(r"^\w+=.*$", text, re.M))


def the_backends_unit_runs_it_with_the_options_of_its_settings(place):
    """As systemd would: its command line, with the settings that backend.env shows as comments."""
    unit, _ = _directives("gpufl-backend.service")
    settings = dict(re.findall(r"^#(GPUFL_\w+)=(.*)$", (PACKAGING / "systemd/backend.env").read_text(), re.M))
    equal(set(settings), {"GPUFL_BACKEND_OPTIONS", "GPUFL_BACKEND_API_KEY"}, "settings")
    check("$GPUFL_BACKEND_OPTIONS" in unit["ExecStart"], unit["ExecStart"])
    program, *words = unit["ExecStart"].replace("%S", str(place.path)).replace(
        "$GPUFL_BACKEND_OPTIONS", settings["GPUFL_BACKEND_OPTIONS"]).split()
    equal((program, words[:2], unit["StateDirectory"]),
          ("/usr/bin/gpufl-backend", ["--listen", "127.0.0.1:8765"], "gpufl-backend"), "what it runs")
    state = place.path / unit["StateDirectory"]
    state.mkdir()
    process = place.start("gpufl-backend", *words, "--listen", "127.0.0.1:0",
                          env={"GPUFL_BACKEND_API_KEY": lib.KEY})
    until(lambda: "http://127.0.0.1:" in process.log.read_text(), "it listens on loopback")
    check(list(state.glob("*.db")), "its database is in its state directory")
    process.terminate()
    equal(process.wait(20 * lib.SLOW), 0, "SIGTERM")


def both_units_are_hardened_alike(place):
    """The agent reads jobs' directories, is told what time it has left, has a bound of memory, sees whose
    process locks a directory and whose it is, and publishes what it has sent."""
    lines, others = _directives("gpufl-agent.service")[1], _directives("gpufl-backend.service")[1]
    own = {"Description", "Documentation", "Wants", "After", "ConditionFileNotEmpty", "StartLimitIntervalSec", "Type",
           "ExecStart", "ExecReload", "EnvironmentFile", "LoadCredential", "StateDirectory", "WatchdogSec",
           "SupplementaryGroups", "ReadWritePaths", "MemoryMax", "TasksMax", "ProtectProc", "RuntimeDirectory",
           "RuntimeDirectoryMode", "PrivateUsers"}
    equal({line for line in lines - others if line.split("=")[0] not in own}, set(), "only the agent's unit has")


def _real_figures(place):
    """{name: the labels that it has} of an agent that has seen each kind of trouble."""
    def answer(_, request):
        return {"device": 400, "scope": 503}.get(request.channel) if request.is_batch else None

    with sink.Sink(answer, declare=True) as s:
        lib.job(place, 0.1)
        agent = Watched(place, s.url, "--drain-timeout=10ms")
        until(lambda: agent.figure("quarantined_total{http_400}") and agent.figure("lines_sent_total{system}"),
              "it has seen it")
        text = agent.ask("/metrics")[1]
        agent.stop()
    names = {}
    for name, label in re.findall(r"^(\w+)(?:\{(\w+)=)?", text, re.M):
        names.setdefault(name, set()).update({label} - {""})
    return {name: labels | {"instance", "job"} for name, labels in names.items()}


def _check_expression(expression, figures):
    used = re.findall(r"((?:gpufl_agent|process)_\w+)(?:\{([^}]*)\})?", expression)
    check(used, expression)
    for name, labels in used:
        check(name in figures, f"{expression}: there is no {name}")
        unknown = set(re.findall(r"(\w+)(?:=~|!=|=)", labels)) - figures[name]
        equal(unknown, set(), f"{expression}: labels of {name}")


def alerts_and_dashboard_ask_for_figures_that_are_there(place):
    figures = _real_figures(place)
    rules = yaml.safe_load((PACKAGING / "prometheus/alerts.yml").read_text())["groups"][0]["rules"]
    for rule in rules:
        _check_expression(rule["expr"], figures)
        check(rule["annotations"]["summary"] and rule["labels"]["severity"] in ("warning", "critical"), rule["alert"])
    board = json.loads((PACKAGING / "grafana/gpufl-agent.json").read_text())
    for panel in board["panels"]:
        for target in panel["targets"]:
            _check_expression(target["expr"], figures)
            grouped = re.search(r" by \((\w+)\)", target["expr"])
            name = re.search(r"(gpufl_agent|process)_\w+", target["expr"])[0]
            check(not grouped or grouped[1] in figures[name], target["expr"])
    table = (lib.ROOT / "docs/operations.md").read_text()
    documented = dict(re.findall(r"`((?:gpufl_agent|process)_\w+)(?:\{(\w+)\})?`", table))
    equal(set(documented), set(figures), "documented figures")
    for name, label in documented.items():
        equal({label} - {""}, figures[name] - {"instance", "job"}, name)


def each_event_of_the_log_is_explained(place):
    events = set()
    for folder in ("agent", "upload"):
        for source in (lib.ROOT / folder).rglob("*.c"):
            calls = re.findall(r"log_(?:error|warn|info|debug|line)\((.*?)\);", source.read_text(), re.S)
            events |= {event for call in calls for event in re.findall(r'"([a-z]+\.[a-z_]+)"', call)}
    events |= {"log.dropped"}
    check(len(events) > 40, f"{events}")
    documented = set(re.findall(r"`([a-z]+\.[a-z_]+)`", (lib.ROOT / "docs/operations.md").read_text()))
    equal(documented - {"alerts.yml"}, events, "events")


def versions_agree(place):
    version = re.search(r"^VERSION := (\S+)", (lib.ROOT / "Makefile").read_text(), re.M)[1]
    check(version in place.run("gpufl-agent", "--version").stdout, "the agent")
    check((PACKAGING / "debian/changelog").read_text().startswith(f"gpufl ({version}-"), "the changelog")
    equal((lib.ROOT / "NEWS").read_text().split()[0], version, "NEWS")
    for name in ("job.yaml", "daemonset.yaml"):
        check(f"image: gpufl-agent:{version}\n" in (PACKAGING / "kubernetes" / name).read_text(), name)


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
