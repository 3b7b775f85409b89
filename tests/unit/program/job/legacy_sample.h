#pragma once
// Initial data of our own making: carbon monoxide in a small basis with general contractions and one d shell, the
// carbon and oxygen cores frozen, two AO segments, settings, empty and integer arrays.

#include "runtime/chemistry/legacy/legacy_dat.h"

inline sial::LegacyDat sample_dat() {
  using sial::IndexKind;
  sial::LegacyDat d;
  d.programs = {"scf_rhf_coreh.siox", "tran_rhf_no4v.siox"};
  d.ints = {{"baocc", 2},          {"bavirt", 4},         {"bavirtorb", 8},     {"bbocc", 2},
            {"bbvirt", 4},         {"bocc", 1},           {"cc_iter", 50},      {"eaocc", 3},
            {"eavirt", 4},         {"eavirtorb", 15},     {"ebocc", 3},         {"ebvirt", 4},
            {"eocc", 3},           {"intspherical", 1},   {"lindep_tol", 8},    {"nalpha_occupied", 7},
            {"nalpha_virtual", 8}, {"nbeta_occupied", 7}, {"nbeta_virtual", 8}, {"norb", 2},
            {"nshells", 5},        {"scf_iter", 150}};
  d.scalars = {{"cc_conv", 1e-12}, {"damp", 0.19999998807907104}, {"scfeneg", -0.0}};
  d.segments = {{IndexKind::ao, {5, 10}},
                {IndexKind::mo, {2, 3, 2, 8}},
                {IndexKind::moa, {2, 3, 2, 8}},
                {IndexKind::mob, {2, 3, 2, 8}}};
  d.arrays = {{"alphas", {8}, {71.616837, 13.045096, 3.5305122, 2.9412494, 0.6834831, 130.70932, 23.808861, 0.8}},
              {"charge", {2}, {6.0, 8.0}},
              {"clp", {0}, {}},
              {"coords", {3, 2}, {-0.0, 0.0, -1.2, 0.0, 0.0, 0.9}},
              {"pcoeffs", {13}, {0.154, 0.535, 0.444, 0.0, 0.0, 1.0, 0.6, 0.5, 0.9, 0.2, 0.0, 1.0, 1.0}},
              {"tcoords", {3, 5}, {-0.0, 0.0, -1.2, 0.0, 0.0, -1.2, 0.0, 0.0, 0.9, 0.0, 0.0, 0.9, 0.0, 0.0, 0.9}}};
  d.int_arrays = {{"ao_seg_ranges", {2}, {5, 15}},
                  {"atom", {5}, {1, 1, 2, 2, 2}},
                  {"ccbeg", {7}, {1, 3, 1, 1, 2, 1, 1}},
                  {"ccend", {7}, {3, 3, 2, 2, 2, 2, 1}},
                  {"end_nfps", {5}, {2, 5, 7, 10, 15}},
                  {"indx_cc", {5}, {1, 3, 4, 6, 7}},
                  {"ivangmom", {5}, {0, 1, 0, 1, 2}},
                  {"ixalphas", {5}, {1, 4, 6, 4, 8}},
                  {"ixpcoeffs", {5}, {1, 7, 9, 7, 13}},
                  {"mo_seg_ranges", {4}, {2, 3, 2, 8}},
                  {"moa_seg_ranges", {4}, {2, 3, 2, 8}},
                  {"mob_seg_ranges", {4}, {2, 3, 2, 8}},
                  {"ncfps", {5}, {2, 1, 2, 1, 1}},
                  {"nelecp", {2}, {0, 0}},
                  {"nlp", {0}, {}},
                  {"npfps", {5}, {3, 2, 2, 2, 1}}};
  d.configs = {{"scf_rhf_coreh.siox", {{"ignore_dropmo", "t"}, {"no_servers", "f"}}}, {"tran_rhf_no4v.siox", {}}};
  return d;
}
