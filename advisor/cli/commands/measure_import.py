"""Take the figures that other benchmark programs have printed.

Reads HPL and HPCC, OSU, Intel MPI Benchmarks, STREAM, BabelStream, Intel MLC, likwid-bench, numademo, perftest, nccl-tests
and core-to-core-latency, known by their content; docs/import.md lists versions and traps. A file that was cut off, that
failed its own check, or whose figures contradict each other is refused in one line. With --from they become measurements of that
machine, which --save keeps for advisor audit and report; where a file does not say on which part it ran, --placed does.
Exit status 1 where something is refused, 2 where nothing could be read.

Group: Look at a machine
Example: advisor measure import HPL.out stream.log
Example: advisor measure import stream.log --from node.tar.gz --placed "numa 1" --save stream.json
Example: advisor audit --from node.tar.gz --measurements stream.json
"""

from advisor.cli import import_options as imports
from advisor.cli import options as opt
from advisor.cli.output import Form, Terminal, emit_json, show


def run(
    files: imports.OtherOutputs,
    *,
    source: imports.MeasuredMachine = None,
    placed: imports.Placed = None,
    save: opt.Save = None,
    json: opt.Json = False,
    output: opt.Output = None,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> int:
    """Take figures of other programs."""
    from advisor.advice.imported import import_files, must_have_results
    from advisor.measure.page import imported_page, measured_page

    form = Form(output, json, width, not no_color)
    found = import_files(files, source, placed, Terminal())
    if save is not None:
        emit_json(must_have_results(found).model_dump(mode="json"), save)
    runs = [(file.name, each) for file in found.files for each in file.runs]
    pages = [imported_page(runs, found.levels, found.refused, found.notes, form.width)]
    kept = found.measurements
    measured = [measured_page(kept, form.width, machine=found.machine, facts=found.facts)] if kept else []
    show(form, found.document, lambda: [*pages, *measured])
    return found.status
