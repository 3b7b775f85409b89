"""A Pygments lexer for SIAL: `pygmentize -l sial prog.sialx`, and Sphinx, LaTeX (minted) and nbconvert through it.

Written by grammar/editors/generate_editors.py: change grammar/editors/templates/pygments_lexer.py.in. Needs Pygments; nothing else of the package does.
"""
from __future__ import annotations

import re
from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

_END = r"(?![a-z0-9_.])"
_NAME = r"[a-z][a-z0-9_.]*"
_KEYWORD = r"restore_persistent|broadcast_from|server_barrier|set_persistent|gpu_allocate|print_scalar|assert_same|distributed|print_index|sip_barrier|collective|contiguous|deallocate|endsection|predefined|print_int|allocate|endpardo|gpu_free|moaindex|mobindex|prequest|subindex|aoindex|destroy|endproc|endsial|execute|gpu_get|gpu_off|gpu_put|laindex|moindex|prepare|println|request|section|special|create|delete|gpu_on|import|return|scalar|served|sparse|static|cycle|enddo|endif|index|local|pardo|print|where|call|else|exit|proc|sial|sqrt|stop|temp|get|int|put|do|if|in|of"

_CONTROL = (
    "sial", "endsial", "import", "proc", "endproc", "call", "return", "stop", "section", "endsection", "do",
    "enddo", "in", "pardo", "endpardo", "where", "if", "else", "endif", "exit", "gpu_on", "gpu_off",
)
_DECLARATION = (
    "scalar", "int", "subindex", "of", "index", "aoindex", "moindex", "moaindex", "mobindex", "laindex", "special",
)
_STORAGE = (
    "static", "temp", "local", "distributed", "served", "predefined", "contiguous", "sparse",
)
_STATEMENT = (
    "create", "delete", "destroy", "allocate", "deallocate", "get", "put", "request", "prepare", "collective",
    "execute", "sip_barrier", "server_barrier", "set_persistent", "restore_persistent", "assert_same",
    "broadcast_from", "print", "println", "gpu_allocate", "gpu_free", "gpu_put", "gpu_get",
)
_RESERVED = (
    "cycle", "prequest", "print_index", "print_scalar", "print_int",
)
SUPER_INSTRUCTIONS = (
    "a4_david_damp_factor", "a4_dscale", "a4_get_init_occupation", "a4_return_occupation", "a4_scf_atom",
    "anti_symm_o", "anti_symm_v", "aoladder_contraction", "check_block_number_calculation", "check_dconf",
    "cis_unit_guess", "compute_diis", "compute_dipole_integrals", "compute_int_scratchmem",
    "compute_int_scratchmem_lowmem", "compute_integral_batch", "compute_nn_repulsion", "compute_pair_nn",
    "compute_ubatch1", "compute_ubatch2", "compute_ubatch4", "compute_ubatch6", "compute_ubatch7",
    "compute_ubatch8", "disable_all_rank_print", "disable_debug_print", "drop_core_in_sip", "eigen_calc",
    "eigen_calc_sqr_inv", "enable_all_rank_print", "enable_debug_print", "energy_denominator_rhf",
    "energy_denominator_uhf", "energy_numerator_rhf", "energy_ty_denominator_rhf", "fill_block_cyclic",
    "fill_block_sequential", "frag_index_range", "free_atom_density", "gen_eigen_calc",
    "get_and_print_int_array_dummy", "get_and_print_mpi_rank", "get_and_print_scalar_array_dummy",
    "get_first_block_element", "get_my_rank", "get_scratch_array_dummy", "invert_diagonal",
    "invert_diagonal_asym", "list_block_map", "list_blocks_with_number", "moi_nn_repulsion", "one_arg_no_op",
    "place_scratch", "print_block", "print_iteration", "print_static_array", "read_block_from_text_file",
    "remove_diagonal", "return_1el_ecpints", "return_diagonal", "return_diagonal_elements", "return_h1",
    "return_h1_moi", "return_h1frag", "return_ovl", "return_ovl_moi", "return_pairs", "return_sval",
    "return_vpq", "scf_atom_lowmem", "set_flags2", "set_frag", "set_ijk_aaa", "set_ijk_aab", "stripi",
    "swap_blocks",
)


class SialLexer(RegexLexer):
    """The language of the Super Instruction Architecture (ACES III, ACES4, sialx)."""

    name = "SIAL"
    url = "https://github.com/UFParLab/aces4"
    aliases: ClassVar[list[str]] = ["sial", "sialx"]
    filenames: ClassVar[list[str]] = ["*.sialx", "*.sial"]
    mimetypes: ClassVar[list[str]] = ["text/x-sial"]
    flags = re.IGNORECASE

    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [
            (r"\ufeff", Text),
            (r"[ \t\f\r\n]+", Whitespace),
            (r"#[^\r\n]*", Comment.Single),
            (r'"[^"\r\n]*"', String.Double),
            (r'"[^"\r\n]*', Error),
            (rf"(sial|endsial)([ \t\f]+)(?!(?:{_KEYWORD}){_END})({_NAME})", bygroups(Keyword, Whitespace, Name.Namespace)),
            (rf"(proc|endproc|call)([ \t\f]+)(?!(?:{_KEYWORD}){_END})({_NAME})", bygroups(Keyword, Whitespace, Name.Function)),
            (words(SUPER_INSTRUCTIONS, prefix=r"(special|execute)([ \t\f]+)", suffix=_END), bygroups(Keyword, Whitespace, Name.Builtin)),
            (rf"(special|execute)([ \t\f]+)(?!(?:{_KEYWORD}){_END})({_NAME})", bygroups(Keyword, Whitespace, Name.Function)),
            (r"(print|println)([ \t\f]+)(elements|norm|max)(?=[ \t\f]*\()", bygroups(Keyword, Whitespace, Name.Builtin)),
            (words(_CONTROL, suffix=_END), Keyword),
            (words(_DECLARATION, suffix=_END), Keyword.Type),
            (words(_STORAGE, suffix=_END), Keyword.Declaration),
            (words(_STATEMENT, suffix=_END), Keyword),
            (rf"(sqrt){_END}", Operator.Word),
            (words(_RESERVED, suffix=_END), Keyword.Reserved),
            (_NAME, Name),
            (r"[0-9]+\.[0-9]*|\.[0-9]+", Number.Float),
            (r"[0-9]+", Number.Integer),
            (r"\+=|-=|\*=|\*\*|==|!=|<=|>=|[-+*/^<>=]", Operator),
            (r"[(),:\[\]]", Punctuation),
        ],
    }
