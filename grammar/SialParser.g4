// The grammar of SIAL, complete and without actions. No rule but the first begins with a line end. Rules named ...Line or
// ...Header or ...End are the contents of one line: after a syntax error the compiler parses line by line through them.
parser grammar SialParser;
options { tokenVocab = SialLexer; }

compilationUnit : NL* ( importLine nl )* program EOF ;
program : programHeader nl ( declaration nl )* ( statement nl )* programEnd NL* ;
nl : NL+ ;

importLine : IMPORT STRING ;
programHeader : SIAL IDENT ;
programEnd : ENDSIAL IDENT ;

// ---- declarations
declaration : declarationLine | procedure ;
declarationLine : scalarDecl | intDecl | arrayDecl | indexDecl | subindexDecl | specialDecl ;
modifier : PREDEFINED | CONTIGUOUS | SPARSE ;
scalarDecl : modifier* SCALAR IDENT ( ASSIGN DOUBLE )? ;
intDecl : modifier* INT IDENT ( ASSIGN INTEGER )? ;
arrayDecl : modifier* arrayKind IDENT LBRACK IDENT ( COMMA IDENT )* RBRACK ;
arrayKind : STATIC | TEMP | LOCAL | DISTRIBUTED | SERVED ;
indexDecl : modifier* indexKind IDENT ASSIGN rangeBound COLON rangeBound ;
indexKind : AOINDEX | MOINDEX | MOAINDEX | MOBINDEX | INDEX | LAINDEX ;
rangeBound : MINUS? INTEGER | IDENT ;
subindexDecl : SUBINDEX IDENT OF IDENT ;
specialDecl : SPECIAL IDENT IDENT? ;

procedure : procHeader nl ( statement nl )* procEnd ;
procHeader : PROC IDENT ;
procEnd : ENDPROC IDENT ;

// ---- statements
statement : statementLine | doLoop | pardoLoop | ifStatement | section | gpuSection ;

doLoop : doHeader nl ( whereLine nl )* ( statement nl )* doEnd ;
doHeader : DO IDENT ( IN IDENT )? ;
doEnd : ENDDO IDENT ( IN IDENT )? ;
pardoLoop : pardoHeader nl ( whereLine nl )* ( statement nl )* pardoEnd ;
pardoHeader : PARDO indexNames STRING? ;
pardoEnd : ENDPARDO indexNames ;
indexNames : IDENT ( COMMA IDENT )* ;
whereLine : WHERE relation ;
ifStatement : ifHeader nl thenPart ( elseHeader nl elsePart )? ifEnd ;
ifHeader : IF relation ;
elseHeader : ELSE ;
ifEnd : ENDIF ;
thenPart : ( statement nl )* ;
elsePart : ( statement nl )* ;
section : sectionHeader nl ( statement nl )* sectionEnd ;
sectionHeader : SECTION ;
sectionEnd : ENDSECTION ;
gpuSection : gpuHeader nl ( statement nl )* gpuEnd ;
gpuHeader : GPU_ON ;
gpuEnd : GPU_OFF ;

statementLine
    : CALL IDENT                                            # callStatement
    | RETURN                                                # returnStatement
    | STOP                                                  # stopStatement
    | EXIT                                                  # exitStatement
    | ( SIP_BARRIER | SERVER_BARRIER )                      # barrierStatement
    | ( ALLOCATE | DEALLOCATE ) IDENT wildcardSelector?         # allocateStatement
    | ( ALLOCATE | DEALLOCATE ) CONTIGUOUS region           # allocateRegionStatement
    | CREATE IDENT                                          # createStatement
    | ( DELETE | DESTROY ) IDENT                            # deleteStatement
    | ( GET | REQUEST ) block                               # getStatement
    | ( PUT | PREPARE ) block assignOp expr                 # putStatement
    | COLLECTIVE IDENT assignOp expr                        # collectiveStatement
    | ASSERT_SAME IDENT                                     # assertSameStatement
    | BROADCAST_FROM primary IDENT                          # broadcastStatement
    | ( PRINT | PRINTLN ) expr                              # printStatement
    | ( PRINT | PRINTLN ) IDENT LPAREN inspected ( COMMA expr )* RPAREN # inspectStatement
    | EXECUTE IDENT argument*                               # executeStatement
    | ( SET_PERSISTENT | RESTORE_PERSISTENT ) IDENT STRING  # persistentStatement
    | ( GPU_ALLOCATE | GPU_FREE | GPU_PUT | GPU_GET ) argument # gpuStatement
    | IDENT assignOp expr                                   # assignName
    | block assignOp expr                                   # assignBlock
    | region assignOp expr                                  # assignRegion
    ;
assignOp : ASSIGN | PLUS_ASSIGN | MINUS_ASSIGN | STAR_ASSIGN ;
wildcardSelector : LBRACK wildcardIndex ( COMMA wildcardIndex )* RBRACK ;
wildcardIndex : IDENT | STAR ;
// The words before the parenthesis (norm, max, elements) are no keywords: elsewhere they are names.
inspected : region | block | IDENT ;
// Arguments are separated by blanks only; `A [i,j]` is one argument.
argument : region | block | IDENT | DOUBLE | INTEGER ;

// ---- blocks and regions
block : IDENT LBRACK blockIndex ( COMMA blockIndex )* RBRACK ;
blockIndex : ( LPAREN INDEX RPAREN )? IDENT ;
region : IDENT LBRACK segmentRange ( COMMA segmentRange )* RBRACK ;
segmentRange : expr COLON expr ;

// ---- expressions, loosest to tightest; all binary operators are left-associative, ** included
relation : expr relationOp expr ;
relationOp : LT | GT | LE | GE | EQ | NE ;
expr : term ( ( PLUS | MINUS ) term )* ;
term : power ( ( STAR | SLASH | CARET ) power )* ;
power : castExpr ( POW castExpr )* ;
castExpr : LPAREN ( INT | SCALAR | INDEX ) RPAREN castExpr | unary ;
unary : MINUS primary | SQRT primary | primary ;
primary
    : LPAREN expr RPAREN  # parenthesis
    | INTEGER             # intLiteral
    | DOUBLE              # realLiteral
    | STRING              # stringLiteral
    | block               # blockOperand
    | region              # regionOperand
    | IDENT               # nameOperand
    ;
