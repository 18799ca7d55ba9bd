"""The processors of the test machines: caches, identity and CPU flags, as real ones report them."""

from dataclasses import replace

from tests.machines.spec import Cache, Processor


def _flags(*texts: str) -> tuple[str, ...]:
    return tuple(word for text in texts for word in text.split())


_X86 = """fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ht syscall nx
pdpe1gb rdtscp lm constant_tsc rep_good nopl nonstop_tsc aperfmperf pni pclmulqdq monitor ssse3 fma cx16 sse4_1 sse4_2
movbe popcnt aes xsave avx f16c rdrand lahf_lm abm fsgsbase bmi1 avx2 smep bmi2 xsaveopt arat"""
_AMD = """mmxext fxsr_opt cpuid extd_apicid cmp_legacy svm extapic cr8_legacy sse4a misalignsse 3dnowprefetch osvw skinit
wdt tce topoext perfctr_core perfctr_nb bpext perfctr_llc mwaitx cpb hw_pstate ssbd ibpb vmmcall rdseed adx smap clflushopt
sha_ni xsavec xgetbv1 clzero irperf xsaveerptr"""
_ROME = "clwb cqm_llc cqm_occup_llc cqm_mbm_total cqm_mbm_local umip rdpid"
_ZEN4 = "avx512f avx512dq avx512cd avx512bw avx512vl avx512_vnni avx512_bf16 gfni vaes vpclmulqdq"
_INTEL = """dts acpi ss tm pbe arch_perfmon pebs bts xtopology dtes64 ds_cpl vmx smx est tm2 sdbg xtpr pdcm pcid dca x2apic
tsc_deadline_timer epb tsc_adjust erms invpcid cqm cqm_llc cqm_occup_llc dtherm ida pln pts"""
_CASCADE = """rdt_a avx512f avx512dq rdseed adx smap clflushopt clwb intel_pt avx512cd avx512bw avx512vl
xsavec xgetbv1 xsaves avx512_vnni"""
_SAPPHIRE = "avx512_bf16 avx512vbmi umip gfni vaes vpclmulqdq la57 rdpid amx_bf16 avx512_fp16 amx_tile amx_int8"

NAPLES = Processor(
    vendor="AuthenticAMD",
    family=23,
    model=1,
    stepping=2,
    microcode="0x800126e",
    l1d=Cache(32, 8),
    l1i=Cache(64, 4),
    l2=Cache(512, 8),
    l3=Cache(8192, 16),
    driver="acpi-cpufreq",
    flags=_flags(_X86, _AMD, "amd_dcm"),
)
ROME = replace(
    NAPLES,
    model=49,
    stepping=0,
    microcode="0x830107a",
    l1i=Cache(32, 8),
    l3=Cache(16384, 16),
    flags=_flags(_X86, _AMD, _ROME),
)
GENOA = replace(
    ROME,
    family=25,
    model=17,
    stepping=2,
    microcode="0xa101248",
    l2=Cache(1024, 8),
    l3=Cache(98304, 16),
    flags=_flags(_X86, _AMD, _ROME, _ZEN4),
)
TURIN = replace(
    GENOA, family=26, model=2, stepping=1, microcode="0xb00211a", l1d=Cache(48, 12), l3=Cache(32768, 16), driver="amd-pstate-epp"
)
HASWELL = Processor(
    vendor="GenuineIntel",
    family=6,
    model=63,
    stepping=2,
    microcode="0x49",
    l1d=Cache(32, 8),
    l1i=Cache(32, 8),
    l2=Cache(256, 8),
    l3=Cache(25600, 20),
    driver="intel_pstate",
    flags=_flags(_X86, _INTEL),
)
HASWELL_COD = replace(HASWELL, l3=Cache(12800, 20))
CASCADE = replace(
    HASWELL,
    model=85,
    stepping=7,
    microcode="0x5003707",
    l2=Cache(1024, 16),
    l3=Cache(36608, 11),
    flags=_flags(_X86, _INTEL, _CASCADE),
)
SKYLAKE = replace(CASCADE, stepping=4, microcode="0x2007006", l3=Cache(25344, 11))
SAPPHIRE = replace(
    HASWELL,
    model=143,
    stepping=8,
    microcode="0x2b000590",
    l1d=Cache(48, 12),
    l2=Cache(2048, 16),
    l3=Cache(61440, 15),
    flags=_flags(_X86, _INTEL, _CASCADE, _SAPPHIRE),
)
GRANITE = replace(SAPPHIRE, model=173, stepping=1, microcode="0x1000314", l3=Cache(491520, 16))
KNIGHTS = replace(
    HASWELL,
    model=87,
    stepping=1,
    microcode="0x1b6",
    l2=Cache(1024, 16),
    flags=_flags(_X86, _INTEL, "avx512f avx512pf avx512er avx512cd rdseed adx"),
)
