# cmake -DIN=page.html -DOUT=page.cpp -P embed.cmake: the file as a C++ string.
file(READ ${IN} text)
file(WRITE ${OUT} "#include \"compiler/report/formats/page.h\"\n\nnamespace sial::report {\nnamespace {\nconstexpr char text[] = R\"~~page(${text})~~page\";\n}\nconst std::string_view page_html{text, sizeof text - 1};\n}  // namespace sial::report\n")
