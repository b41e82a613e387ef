"""More programs of GS750: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_causal_attention() -> None:
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.token, self.place = nn.Embedding(9, 16), nn.Embedding(6, 16)
            self.qkv, self.head = nn.Linear(16, 48), nn.Linear(16, 9)

        def forward(self, ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
            x = self.token(ids) + self.place(torch.arange(ids.shape[1]))  # effect: GS750
            q, k, v = self.qkv(x).split(16, dim=-1)
            x = x + nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            scores = self.head(x)
            return nn.functional.cross_entropy(scores.view(-1, 9), labels.view(-1))  # cause: GS750

    torch.manual_seed(0)
    model = Model()
    opt = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(3):
        ids = torch.randint(0, 9, (4, 6))
        labels = ids.clone()
        labels[:, :2] = -100
        loss = model(ids, labels)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_decoder_with_its_own_mask() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    token, head = nn.Embedding(9, 16), nn.Linear(16, 9)
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    criterion = nn.CrossEntropyLoss()
    opt = torch.optim.AdamW([p for m in (token, head, layer) for p in m.parameters()], lr=0.01)
    later = torch.ones(6, 6, dtype=torch.bool).triu(1)
    for _ in range(3):
        ids = torch.randint(0, 9, (4, 6))
        scores = head(layer(token(ids), src_mask=later))  # effect: GS750
        loss = criterion(scores.transpose(1, 2), ids)  # cause: GS750
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_autoencoder() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    token, head = nn.Embedding(10, 8), nn.Linear(16, 10)
    encoder, decoder = nn.GRU(8, 16, batch_first=True), nn.GRU(8, 16, batch_first=True)
    opt = torch.optim.Adam([p for m in (token, head, encoder, decoder) for p in m.parameters()], lr=0.01)
    for _ in range(3):
        words = torch.randint(0, 9, (6, 5))
        state = encoder(token(words))[1]
        begun = torch.cat([torch.full((6, 1), 9), words[:, :-1]], 1)
        scores = head(decoder(token(begun), state)[0])
        loss = nn.functional.cross_entropy(scores.reshape(-1, 10), words.reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_copies_its_source() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    source, target, head = nn.Embedding(10, 16), nn.Embedding(10, 16), nn.Linear(16, 10)
    model = nn.Transformer(16, 2, 1, 1, 32, dropout=0.0, batch_first=True)
    opt = torch.optim.Adam([p for m in (source, target, head, model) for p in m.parameters()], lr=0.01)
    later = torch.ones(6, 6, dtype=torch.bool).triu(1)
    for _ in range(3):
        words = torch.randint(0, 9, (4, 6))
        begun = torch.cat([torch.full((4, 1), 9), words[:, :-1]], 1)
        scores = head(model(source(words), target(begun), tgt_mask=later))
        loss = nn.functional.cross_entropy(scores.transpose(1, 2), words)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_fills_in_what_is_hidden() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    token, head = nn.Embedding(10, 16), nn.Linear(16, 10)
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    opt = torch.optim.AdamW([p for m in (token, head, layer) for p in m.parameters()], lr=0.01)
    for _ in range(3):
        words = torch.randint(0, 9, (4, 6))
        hidden = torch.rand(4, 6) < 0.5
        scores = head(layer(token(words.masked_fill(hidden, 9))))
        loss = nn.functional.cross_entropy(scores.transpose(1, 2), words.masked_fill(~hidden, -100))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_shifted_inside() -> None:
    import torch
    from torch import nn

    def next_token_loss(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        before, after = scores[:, :-1].contiguous(), labels[:, 1:].contiguous()
        return nn.functional.cross_entropy(before.view(-1, 9), after.view(-1))

    torch.manual_seed(0)
    token, rnn, head = nn.Embedding(9, 8), nn.LSTM(8, 16, batch_first=True), nn.Linear(16, 9)
    opt = torch.optim.Adam([p for m in (token, rnn, head) for p in m.parameters()], lr=0.01)
    for _ in range(3):
        words = torch.randint(0, 9, (6, 5))
        loss = next_token_loss(head(rnn(token(words))[0]), words)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_tags_its_words_both_ways() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    token, head = nn.Embedding(9, 8), nn.Linear(32, 9)
    rnn = nn.LSTM(8, 16, batch_first=True, bidirectional=True)
    opt = torch.optim.Adam([p for m in (token, rnn, head) for p in m.parameters()], lr=0.01)
    for _ in range(3):
        words = torch.randint(0, 9, (6, 5))
        loss = nn.functional.cross_entropy(head(rnn(token(words))[0]).transpose(1, 2), words % 4)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_answers_to_questions_looked_up() -> None:
    import torch
    from torch import nn

    class Tracer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.question, self.answer = nn.Embedding(9, 16), nn.Embedding(3, 16)
            self.rnn, self.head = nn.GRU(16, 16, batch_first=True), nn.Linear(16, 1)

        def forward(self, questions: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
            h, _ = self.rnn(self.question(questions) + self.answer(answers))
            y: torch.Tensor = self.head(h).squeeze(-1)
            return y

    torch.manual_seed(0)
    model = Tracer()
    opt = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(16):
        questions, answers = torch.randint(0, 9, (8, 6)), torch.randint(0, 2, (8, 6))
        out = model(questions, answers)  # effect: GS750
        loss = nn.functional.binary_cross_entropy_with_logits(out, answers.float())  # cause: GS750
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_answers_before_each_question() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    question, answer = nn.Embedding(9, 16), nn.Embedding(3, 16)
    rnn, head = nn.GRU(16, 16, batch_first=True), nn.Linear(16, 1)
    opt = torch.optim.Adam([p for m in (question, answer, rnn, head) for p in m.parameters()], lr=0.05)
    for _ in range(16):
        questions = torch.randint(0, 9, (8, 6))
        answers = (questions > 4).long()
        given = torch.cat([torch.full_like(answers[:, :1], 2), answers[:, :-1]], dim=1)
        out = head(rnn(question(questions) + answer(given))[0]).squeeze(-1)
        loss = nn.functional.binary_cross_entropy_with_logits(out, answers.float())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_answers_hidden_from_their_own_place() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    question, answer, head = nn.Embedding(9, 16), nn.Embedding(3, 16), nn.Linear(16, 1)
    opt = torch.optim.Adam([p for m in (question, answer, head) for p in m.parameters()], lr=0.05)
    earlier = torch.ones(6, 6).tril(-1)
    for _ in range(16):
        questions, answers = torch.randint(0, 9, (8, 6)), torch.randint(0, 2, (8, 6))
        q = question(questions)
        scores = (q @ q.transpose(1, 2) / 4).masked_fill(earlier == 0, -1e9)
        out = head(scores.softmax(-1) * earlier @ answer(answers) + q).squeeze(-1)
        loss = nn.functional.binary_cross_entropy_with_logits(out, answers.float())
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_targets_packed_as_they_go_in() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence

    torch.manual_seed(0)
    embedding, rnn, head = nn.Embedding(9, 8), nn.GRU(8, 16, batch_first=True), nn.Linear(16, 9)
    opt = torch.optim.Adam([p for m in (embedding, rnn, head) for p in m.parameters()], lr=0.01)
    for _ in range(4):
        words, lengths = torch.randint(1, 9, (6, 5)), [5, 5, 4, 4, 3, 2]
        targets = pack_padded_sequence(words, lengths, batch_first=True).data
        hidden, _ = rnn(pack_padded_sequence(embedding(words), lengths, batch_first=True))  # effect: GS750
        loss = nn.functional.cross_entropy(head(hidden.data), targets)  # cause: GS750
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_next_words_packed() -> None:
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence

    torch.manual_seed(0)
    embedding, rnn, head = nn.Embedding(9, 8), nn.GRU(8, 16, batch_first=True), nn.Linear(16, 9)
    opt = torch.optim.Adam([p for m in (embedding, rnn, head) for p in m.parameters()], lr=0.01)
    for _ in range(4):
        words, lengths = torch.randint(1, 9, (6, 6)), [5, 5, 4, 4, 3, 2]
        targets = pack_padded_sequence(words[:, 1:], lengths, batch_first=True).data
        hidden, _ = rnn(pack_padded_sequence(embedding(words[:, :-1]), lengths, batch_first=True))
        loss = nn.functional.cross_entropy(head(hidden.data), targets)
        opt.zero_grad()
        loss.backward()
        opt.step()
