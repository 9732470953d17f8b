/* SPDX-License-Identifier: Apache-2.0 */
/* The forms in which the reference's pages use the C++ API, empty blocks included; only compiled
 * (S2-01, S2-02, S2-06, S2-49 to S2-53). Its two blocks of declarations are names.cpp's asserts. */
#include <gpufl/gpufl.hpp>

void scoping();
void phases();
gpufl::InitOptions all_21();

void scoping()
{
    GFL_SCOPE("name") {
        // kernels launched here
    }
    {
        gpufl::ScopedMonitor scope("name");
        // ...
    }
    gpufl::monitor("name", [&]() {
        // ...
    });
}

void phases()
{
    gpufl::systemStart("phase_name");
    // ... GPU work ...
    gpufl::systemStop("phase_name");
    gpufl::systemStart();
    gpufl::systemStop();
    gpufl::generateReport();
    void (*report)(const std::string &) = gpufl::generateReport;
    report("report.txt");
}

/* In their order; C++11 has no such initialisation of a struct with defaults. */
gpufl::InitOptions all_21()
{
#if __cplusplus >= 201402L
#pragma GCC diagnostic ignored "-Wmissing-field-initializers" /* the later fields */
    return {"app", "logs", "https://api.example.com", "gpfl_x", "/api/v1", false, true, true, true,
            true, true, true, 50, 0, true, gpufl::BackendKind::Auto,
            gpufl::ProfilingEngine::PcSampling, "config.json", false, false, true};
#else
    return gpufl::InitOptions();
#endif
}
