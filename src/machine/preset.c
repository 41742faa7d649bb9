/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/machine.h>

#define GB 1e9
#define TF 1e12

/* Facts: peaks are dense (without sparsity), bandwidths of one direction and one device.
 * reserve is for context, libraries and communicators (NVIDIA/nccl-tests#220: 1 GiB was not
 * enough). Tiles are those of CUTLASS's and cuBLAS's large kernels. docs/accuracy.md says how
 * each constant was measured or fitted. */
#define LINKS(UP, UP_RANKS, UP_RATE, SWITCHED, UP_EFF, UP_ALPHA, NET, NET_RATE,        \
              NET_EFF, NET_ALPHA)                                                      \
    .n_tiers = 2, .tier = {{.name = UP,                                                \
                            .ranks = UP_RANKS,                                         \
                            .switched = SWITCHED,                                      \
                            .bytes_per_s = (UP_RATE)*GB,                               \
                            .efficiency = UP_EFF,                                      \
                            .alpha_s = UP_ALPHA},                                      \
                           {.name = NET,                                               \
                            .ranks = 0,                                                \
                            .switched = 1,                                             \
                            .bytes_per_s = (NET_RATE)*GB,                              \
                            .efficiency = NET_EFF,                                     \
                            .alpha_s = NET_ALPHA}}
#define RATES(F64, F32, BF16, FP8, FP4)                                                \
    .flops_per_s = {(F64)*TF, (F32)*TF, (BF16)*TF, (FP8)*TF, (FP4)*TF}
#define FITTED(GEMM, HALF_K, ATTENTION, MEMORY, OVERHEAD, TAX)                         \
    .gemm_efficiency = GEMM, .gemm_half_k = HALF_K, .attention_efficiency = ATTENTION, \
    .memory_efficiency = MEMORY, .op_overhead_s = OVERHEAD, .overlap_tax = TAX
#define DEVICE(NAME, TEXT, SOURCE, RANKS, MEMORY, RATE, UNITS)                         \
    .name = NAME, .device = TEXT, .source = SOURCE, .nodes = 1,                        \
    .ranks_per_node = RANKS, .memory_bytes = (MEMORY)*GB,                              \
    .memory_bytes_per_s = (RATE)*GB, .reserve_bytes = 1.6e9, .units = UNITS,           \
    .tile_m = 128, .tile_n = 256, .align = 8

#define M "stas00/ml-engineering, 2026-08"
#define Z "zhebrak/llm-cluster-simulator docs/HARDWARE.md"

/* Where constants come from: fitted ones on the half of the runs with an even hash. */
#define OF_ALL                                                                         \
    "; op_overhead: set; overlap_tax: Galvatron (Miao et al. 2022); docs/accuracy.md"
#define FIT_A100    "fitted on A100 runs, network too; NVLink: vTrain's all-reduces" OF_ALL
#define FIT_AS_A100 "as A100, whose are fitted; NVLink: vTrain's all-reduces" OF_ALL
#define FIT_OWN                                                                        \
    "gemm, attention: fitted on its runs; links: measured all-reduces "                \
    "(stas00/ml-engineering)" OF_ALL
#define FIT_AS_H100                                                                    \
    "as H100, whose are fitted; links: measured all-reduces "                          \
    "(stas00/ml-engineering)" OF_ALL
#define FIT_AS_B200                                                                    \
    "as B200, whose are fitted; links: measured all-reduces "                          \
    "(stas00/ml-engineering)" OF_ALL
#define FIT_AMD                                                                        \
    "gemm: measured matmuls (stas00/ml-engineering); links: measured all-reduces "     \
    "(stas00/ml-engineering); rest: guessed"

#define FIT_AS_MI300X "as MI300X, the same chip"
#define FIT_GUESSED   "guessed: there are no runs of it; measure one"

#define NVLINK_ALPHA  7.5e-6
#define NIC_ALPHA     1.0e-5

static const weft_machine presets[] = {
    {DEVICE("v100", "V100 SXM 32GB",
            "NVIDIA's data sheet; all-reduce: VIA-Research/vTrain", 8, 32, 900, 80),
     RATES(7.8, 15.7, 125, 0, 0), .fitted = FIT_AS_A100,
     FITTED(0.79, 180, 0.30, 0.79, 8e-6, 0.2),
     LINKS("NVLink2", 8, 150, 1, 0.90, NVLINK_ALPHA, "EDR", 12.5, 0.8, NIC_ALPHA)},
    {DEVICE("a100-40", "A100 SXM 40GB", M "; " Z "; all-reduce: VIA-Research/vTrain", 8,
            40, 1555, 108),
     RATES(9.7, 19.5, 312, 0, 0), .fitted = FIT_A100,
     FITTED(0.79, 180, 0.30, 0.79, 8e-6, 0.2),
     LINKS("NVLink3", 8, 300, 1, 0.767, NVLINK_ALPHA, "HDR200", 25, 0.75, NIC_ALPHA)},
    {DEVICE("a100-80", "A100 SXM 80GB", M "; " Z "; all-reduce: VIA-Research/vTrain", 8,
            80, 2039, 108),
     RATES(9.7, 19.5, 312, 0, 0), .fitted = FIT_A100,
     FITTED(0.79, 180, 0.30, 0.79, 8e-6, 0.2),
     LINKS("NVLink3", 8, 300, 1, 0.767, NVLINK_ALPHA, "HDR200", 25, 0.75, NIC_ALPHA)},
    {DEVICE("h100", "H100 SXM 80GB", M "; " Z, 8, 80, 3350, 132),
     RATES(34, 67, 989, 1979, 0), .fitted = FIT_OWN,
     FITTED(0.65, 250, 0.45, 0.80, 8e-6, 0.2),
     LINKS("NVLink4", 8, 450, 1, 0.813, NVLINK_ALPHA, "NDR400", 50, 0.8, NIC_ALPHA)},
    {DEVICE("h100-96", "H100 SXM 96GB HBM2e", "pytorch/torchtitan's benchmarks", 8, 96,
            2400, 132),
     RATES(34, 67, 989, 1979, 0), .fitted = FIT_OWN,
     FITTED(0.45, 250, 0.19, 0.80, 8e-6, 0.2),
     LINKS("NVLink4", 8, 450, 1, 0.813, NVLINK_ALPHA, "RoCE 400", 50, 0.8, NIC_ALPHA)},
    {DEVICE("h200", "H200 SXM 141GB", M, 8, 141, 4800, 132),
     RATES(34, 67, 989, 1979, 0), .fitted = FIT_AS_H100,
     FITTED(0.65, 250, 0.45, 0.80, 8e-6, 0.2),
     LINKS("NVLink4", 8, 450, 1, 0.813, NVLINK_ALPHA, "NDR400", 50, 0.8, NIC_ALPHA)},
    {DEVICE("h800", "H800 SXM 80GB", Z "; DeepSeek-V3 technical report", 8, 80, 3350,
            132),
     RATES(1, 67, 989, 1979, 0), .fitted = FIT_AS_H100,
     FITTED(0.65, 250, 0.45, 0.80, 8e-6, 0.2),
     LINKS("NVLink4", 8, 200, 1, 0.8, NVLINK_ALPHA, "NDR400", 50, 0.8, NIC_ALPHA)},
    {DEVICE("gh200", "GH200 96GB", M "; network: Alps", 4, 96, 4000, 132),
     RATES(34, 67, 989, 1979, 0), .fitted = FIT_AS_H100,
     FITTED(0.65, 250, 0.45, 0.80, 8e-6, 0.2),
     LINKS("NVLink4", 4, 450, 1, 0.813, NVLINK_ALPHA, "Slingshot-11", 25, 0.8,
           NIC_ALPHA)},
    {DEVICE("b200", "B200 SXM 180GB", M "; " Z, 8, 180, 8000, 148),
     RATES(37, 75, 2250, 4500, 9000), .fitted = FIT_OWN,
     FITTED(0.46, 250, 0.33, 0.80, 8e-6, 0.2),
     LINKS("NVLink5", 8, 900, 1, 0.757, NVLINK_ALPHA, "NDR400", 50, 0.8, NIC_ALPHA)},
    {DEVICE("b300", "B300 SXM 288GB", M, 8, 288, 8000, 148),
     RATES(1.2, 75, 2250, 4500, 13500), .fitted = FIT_AS_B200,
     FITTED(0.46, 250, 0.33, 0.80, 8e-6, 0.2),
     LINKS("NVLink5", 8, 900, 1, 0.757, NVLINK_ALPHA, "ConnectX-8", 100, 0.8,
           NIC_ALPHA)},
    {DEVICE("gb200", "GB200 NVL72", M, 4, 186, 8000, 148),
     RATES(40, 80, 2500, 5000, 10000), .fitted = FIT_OWN,
     FITTED(0.65, 250, 0.23, 0.80, 8e-6, 0.2),
     LINKS("NVLink5", 72, 900, 1, 0.757, NVLINK_ALPHA, "ConnectX-7", 50, 0.8,
           NIC_ALPHA)},
    {DEVICE("gb300", "GB300 NVL72", M, 4, 288, 8000, 148),
     RATES(1.3, 80, 2500, 5000, 15000), .fitted = FIT_OWN,
     FITTED(0.85, 250, 0.23, 0.80, 8e-6, 0.2),
     LINKS("NVLink5", 72, 900, 1, 0.757, NVLINK_ALPHA, "ConnectX-8", 100, 0.8,
           NIC_ALPHA)},
    {DEVICE("mi250x", "MI250X, one GCD",
            "AMD's data sheet; network: Frontier user guide", 8, 64, 1638, 110),
     RATES(47.9, 47.9, 191.5, 0, 0), .fitted = FIT_GUESSED,
     FITTED(0.6, 200, 0.4, 0.7, 1e-5, 0.2),
     LINKS("xGMI", 8, 350, 0, 0.8, 1e-5, "Slingshot-11", 12.5, 0.8, NIC_ALPHA)},
    {DEVICE("mi300x", "MI300X 192GB", M, 8, 192, 5300, 304),
     RATES(81.7, 163.4, 1307, 2614, 0), .fitted = FIT_AMD,
     FITTED(0.51, 200, 0.35, 0.7, 1e-5, 0.2),
     LINKS("xGMI", 8, 448, 0, 0.7, 1e-5, "NIC 400", 50, 0.8, NIC_ALPHA)},
    {DEVICE("mi325x", "MI325X 256GB", M, 8, 256, 6000, 304),
     RATES(81.7, 163.4, 1307, 2614, 0), .fitted = FIT_AS_MI300X,
     FITTED(0.51, 200, 0.35, 0.7, 1e-5, 0.2),
     LINKS("xGMI", 8, 448, 0, 0.7, 1e-5, "NIC 400", 50, 0.8, NIC_ALPHA)},
    {DEVICE("mi355x", "MI355X 288GB", M, 8, 288, 8000, 256),
     RATES(78.6, 157.3, 2500, 5000, 10000), .fitted = FIT_AMD,
     FITTED(0.626, 200, 0.35, 0.7, 1e-5, 0.2),
     LINKS("xGMI", 8, 535.5, 0, 0.7, 1e-5, "NIC 400", 50, 0.8, NIC_ALPHA)},
};

int weft_machine_preset_count(void)
{
    return sizeof presets / sizeof *presets;
}

const weft_machine *weft_machine_preset_at(int i)
{
    return &presets[i];
}
