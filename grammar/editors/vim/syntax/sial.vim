" Vim syntax file: SIAL, the language of the Super Instruction Architecture
" Written by grammar/editors/generate_editors.py: change templates/vim_syntax.vim there.

if exists("b:current_syntax")
  finish
endif
let s:cpo_save = &cpo
set cpo&vim

syn case ignore
syn iskeyword @,48-57,_,.

syn keyword sialProgram
      \ sial endsial import proc endproc call
syn keyword sialControl
      \ return stop section endsection do enddo in pardo endpardo where if else endif exit gpu_on gpu_off
syn keyword sialType
      \ scalar int subindex of index aoindex moindex moaindex mobindex laindex special
syn keyword sialStorage
      \ static temp local distributed served predefined contiguous sparse
syn keyword sialStatement
      \ create delete destroy allocate deallocate get put request prepare collective execute sip_barrier
      \ server_barrier set_persistent restore_persistent assert_same broadcast_from print println gpu_allocate
      \ gpu_free gpu_put gpu_get
syn keyword sialRoot
      \ sqrt
syn keyword sialReserved
      \ cycle prequest print_index print_scalar print_int

syn match sialFunction "\%(\<\%(proc\|endproc\|call\|special\|execute\)[ \t]\+\)\@<=\a[a-z0-9_.]*" contains=sialSuper
syn keyword sialSuper contained
      \ a4_david_damp_factor a4_dscale a4_get_init_occupation a4_return_occupation a4_scf_atom anti_symm_o
      \ anti_symm_v aoladder_contraction check_block_number_calculation check_dconf cis_unit_guess compute_diis
      \ compute_dipole_integrals compute_int_scratchmem compute_int_scratchmem_lowmem compute_integral_batch
      \ compute_nn_repulsion compute_pair_nn compute_ubatch1 compute_ubatch2 compute_ubatch4 compute_ubatch6
      \ compute_ubatch7 compute_ubatch8 disable_all_rank_print disable_debug_print drop_core_in_sip eigen_calc
      \ eigen_calc_sqr_inv enable_all_rank_print enable_debug_print energy_denominator_rhf energy_denominator_uhf
      \ energy_numerator_rhf energy_ty_denominator_rhf fill_block_cyclic fill_block_sequential frag_index_range
      \ free_atom_density gen_eigen_calc get_and_print_int_array_dummy get_and_print_mpi_rank
      \ get_and_print_scalar_array_dummy get_first_block_element get_my_rank get_scratch_array_dummy invert_diagonal
      \ invert_diagonal_asym list_block_map list_blocks_with_number moi_nn_repulsion one_arg_no_op place_scratch
      \ print_block print_iteration print_static_array read_block_from_text_file remove_diagonal return_1el_ecpints
      \ return_diagonal return_diagonal_elements return_h1 return_h1_moi return_h1frag return_ovl return_ovl_moi
      \ return_pairs return_sval return_vpq scf_atom_lowmem set_flags2 set_frag set_ijk_aaa set_ijk_aab stripi
      \ swap_blocks
syn match sialInspection "\%(\<print\%(ln\)\=[ \t]\+\)\@<=\%(norm\|max\|elements\)\ze[ \t]*("
syn match sialNumber "\%([A-Za-z0-9_.]\)\@<!\%(\d\+\.\d*\|\.\d\+\|\d\+\)"
syn match sialOperator "[-+*/^<>=!]"
syn match sialString "\"[^\"]*\""
syn match sialError "\"[^\"]*$"
syn match sialComment "#.*$" contains=sialTodo,@Spell
syn keyword sialTodo contained todo note

hi def link sialProgram Structure
hi def link sialControl Statement
hi def link sialType Type
hi def link sialStorage StorageClass
hi def link sialStatement Keyword
hi def link sialRoot Operator
hi def link sialReserved Error
hi def link sialFunction Function
hi def link sialSuper Special
hi def link sialInspection Special
hi def link sialNumber Number
hi def link sialOperator Operator
hi def link sialString String
hi def link sialError Error
hi def link sialComment Comment
hi def link sialTodo Todo

let b:current_syntax = "sial"
let &cpo = s:cpo_save
unlet s:cpo_save
