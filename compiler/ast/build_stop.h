#pragma once
// Ends an ANTLR parse at the first error and says at which token. Private to the parser.

#include <antlr4-runtime.h>

namespace sial::parsing {

struct SyntaxStop {
  std::size_t token_index;  // in the stream
  std::size_t offset;       // of the token's first character
};

class StopAtError : public antlr4::DefaultErrorStrategy {
 public:
  void sync(antlr4::Parser*) override {}
  void reportError(antlr4::Parser*, const antlr4::RecognitionException&) override {}
  void recover(antlr4::Parser* parser, std::exception_ptr error) override {
    antlr4::Token* token = parser->getCurrentToken();
    try {
      std::rethrow_exception(error);
    } catch (const antlr4::RecognitionException& e) {
      if (e.getOffendingToken()) token = e.getOffendingToken();
    }
    throw SyntaxStop{token->getTokenIndex(), token->getStartIndex()};
  }
  antlr4::Token* recoverInline(antlr4::Parser* parser) override {
    antlr4::Token* token = parser->getCurrentToken();
    throw SyntaxStop{token->getTokenIndex(), token->getStartIndex()};
  }
};

}  // namespace sial::parsing
