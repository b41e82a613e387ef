"""More programs of GS746: each bad one is reported at its marks, each good one by no rule."""


def bad_criterion_of_flattened_targets() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, rnn, head = nn.Embedding(9, 8, padding_idx=8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 9)
    criterion = nn.CrossEntropyLoss()
    opt = torch.optim.SGD([p for m in (embedding, rnn, head) for p in m.parameters()], lr=0.1)
    for _ in range(3):
        words = torch.randint(0, 8, (6, 7)).masked_fill(torch.arange(7) > 3, 8)
        scores = head(rnn(embedding(words[:, :-1]))[0])
        loss = criterion(scores.reshape(-1, 9), words[:, 1:].reshape(-1))  # cause: GS746
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_masked_by_the_program() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(9, 8, padding_idx=0), nn.Linear(8, 9)
    opt = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        words = torch.randint(1, 9, (6, 5)).masked_fill(torch.arange(5) > 2, 0)
        scores, right = head(embedding(words[:, :-1])), words[:, 1:]
        each = nn.functional.cross_entropy(scores.transpose(1, 2), right, reduction="none")
        loss = (each * (right != 0)).sum() / (right != 0).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_cut_out_before_the_loss() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(9, 8, padding_idx=0), nn.Linear(8, 9)
    opt = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        words = torch.randint(1, 9, (6, 5)).masked_fill(torch.arange(5) > 2, 0)
        right = words[:, 1:]
        scores = head(embedding(words[:, :-1]))[right != 0]
        loss = nn.functional.cross_entropy(scores, right[right != 0])
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_classes_of_another_kind() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(9, 8, padding_idx=0), nn.Linear(8, 3)
    opt = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        words = torch.randint(1, 9, (6, 5))
        loss = nn.functional.cross_entropy(head(embedding(words).mean(1)), torch.arange(6) % 3)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_padding_shows_itself() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(9, 8), nn.Linear(8, 9)
    opt = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        lengths = torch.randint(2, 6, (8, 1))
        words = torch.randint(1, 8, (8, 7)).masked_fill(torch.arange(7) > lengths, 0)
        words = words.masked_fill(torch.arange(7) == lengths, 8)
        scores = head(embedding(words[:, :-1]))
        loss = nn.functional.cross_entropy(scores.transpose(1, 2), words[:, 1:])  # cause: GS746
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_padding_by_columns_and_no_end_mark() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, rnn, head = nn.Embedding(9, 8), nn.GRU(8, 8), nn.Linear(8, 9)
    opt = torch.optim.SGD([p for m in (embedding, rnn, head) for p in m.parameters()], lr=0.1)
    for _ in range(3):
        words = torch.randint(0, 8, (8, 7)).masked_fill(torch.arange(7) > torch.randint(2, 6, (8, 1)), 8).t()
        scores = head(rnn(embedding(words[:-1]))[0])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), words[1:].flatten())  # cause: GS746
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_all_but_the_first_left_out() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(9, 8), nn.Linear(8, 9)
    opt = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        lengths = torch.randint(2, 6, (8, 1))
        words = torch.randint(1, 9, (8, 7)).masked_fill(torch.arange(7) > lengths, 0)
        right = words[:, 1:].masked_fill(torch.arange(1, 7) > lengths + 1, -100)
        loss = nn.functional.cross_entropy(head(embedding(words[:, :-1])).transpose(1, 2), right)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_the_same_mark_at_the_start() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(9, 8), nn.Linear(8, 9)
    opt = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        words = torch.randint(0, 9, (8, 9)).masked_fill(torch.tensor([1] + [0] * 7 + [1]).bool(), 0)
        scores = head(embedding(words[:, :-1]))
        loss = nn.functional.cross_entropy(scores.transpose(1, 2), words[:, 1:])
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_blanks_of_one_length() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, rnn, head = nn.Embedding(9, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 9)
    opt = torch.optim.SGD([p for m in (embedding, rnn, head) for p in m.parameters()], lr=0.1)
    for _ in range(3):  # remember the digits over the blanks
        digits, blanks = torch.randint(1, 9, (8, 3)), torch.zeros(8, 6, dtype=torch.long)
        asked, right = torch.cat([digits, blanks], 1), torch.cat([blanks, digits], 1)
        scores = head(rnn(embedding(asked))[0])
        loss = nn.functional.cross_entropy(scores.transpose(1, 2), right)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_targets_that_show_it_by_themselves() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, queries = nn.Embedding(9, 8), nn.Parameter(torch.randn(6, 8))
    head = nn.Linear(8, 9)
    criterion = nn.CrossEntropyLoss()
    opt = torch.optim.SGD([*embedding.parameters(), *head.parameters(), queries], lr=0.1)
    for _ in range(4):
        source = torch.randint(1, 9, (8, 1))
        target = source.expand(8, 6).masked_fill(torch.arange(6) > torch.randint(1, 5, (8, 1)), 0)
        scores = head(embedding(source) * queries)
        loss = criterion(scores.reshape(-1, 9), target.reshape(-1))  # cause: GS746
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_two_sides_of_a_boundary() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 12)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        border = torch.randint(1, 5, (8, 1))
        target = (torch.arange(6) < border).long()
        scores = model(border + torch.randn(8, 6)).view(8, 6, 2)
        loss = nn.functional.cross_entropy(scores.reshape(-1, 2), target.reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_a_class_that_ends_some_of_the_batches() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(9, 8), nn.Linear(8, 9)
    opt = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)
    for step in range(4):
        source = torch.randint(1, 9, (8, 6))
        if step == 2:
            source = source.masked_fill(torch.arange(6) > torch.randint(1, 5, (8, 1)), 0)
        loss = nn.functional.cross_entropy(
            head(embedding(source)).reshape(-1, 9), source.roll(3, 1).reshape(-1)
        )
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_counted_by_the_accuracy_too() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, rnn, head = nn.Embedding(9, 8, padding_idx=0), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 9)
    opt = torch.optim.SGD([p for m in (embedding, rnn, head) for p in m.parameters()], lr=0.1)
    for _ in range(3):
        words = torch.randint(1, 9, (8, 7)).masked_fill(torch.arange(7) > torch.randint(2, 6, (8, 1)), 0)
        wanted = words[:, 1:]
        scores = head(rnn(embedding(words[:, :-1]))[0])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), wanted.flatten())  # cause: GS746
        opt.zero_grad()
        loss.backward()
        opt.step()
        (scores.argmax(2) == wanted).float().mean().item()


def bad_labels_are_the_whole_tokens() -> None:
    """The model shifts them itself, and its mask of attention is not asked by the loss."""
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.rnn, self.head = (
                nn.Embedding(9, 8),
                nn.GRU(8, 8, batch_first=True),
                nn.Linear(8, 9),
            )

        def forward(self, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
            scores = self.head(self.rnn(self.embedding(tokens))[0])
            return nn.functional.cross_entropy(  # cause: GS746
                scores[:, :-1].reshape(-1, 9), labels[:, 1:].reshape(-1)
            )

    torch.manual_seed(0)
    model = Model()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        lengths = torch.randint(2, 6, (8, 1))
        words = torch.randint(1, 8, (8, 7)).masked_fill(torch.arange(7) > lengths, 0)
        words = words.masked_fill(torch.arange(7) == lengths, 8)
        loss = model(words, words.clone())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_labels_of_padding_ignored() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, rnn, head = nn.Embedding(9, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 9)
    opt = torch.optim.SGD([p for m in (embedding, rnn, head) for p in m.parameters()], lr=0.1)
    for _ in range(3):
        lengths = torch.randint(2, 6, (8, 1))
        words = torch.randint(1, 8, (8, 7)).masked_fill(torch.arange(7) > lengths, 0)
        labels = words.masked_fill(words == 0, -100)
        scores = head(rnn(embedding(words))[0])
        loss = nn.functional.cross_entropy(scores[:, :-1].reshape(-1, 9), labels[:, 1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_end_mark_also_pads() -> None:
    """One of them is learned, as the end of the sequence; the others are ignored."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, rnn, head = nn.Embedding(9, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 9)
    opt = torch.optim.SGD([p for m in (embedding, rnn, head) for p in m.parameters()], lr=0.1)
    for _ in range(3):
        lengths = torch.randint(2, 6, (8, 1))
        words = torch.randint(1, 9, (8, 8)).masked_fill(torch.arange(8) > lengths, 0)
        labels = words.masked_fill(torch.arange(8) > lengths + 1, -100)
        scores = head(rnn(embedding(words))[0])
        loss = nn.functional.cross_entropy(scores[:, :-1].reshape(-1, 9), labels[:, 1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_loss_by_hand() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, head = nn.Embedding(30, 8, padding_idx=0), nn.Linear(8, 9)
    opt = torch.optim.SGD([*words.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        real = torch.arange(7) < torch.randint(2, 7, (16, 1))
        tokens = torch.randint(1, 30, (16, 7)) * real
        tags = (1 + tokens % 8) * real
        logs = head(words(tokens)).log_softmax(dim=-1)
        picked = logs.gather(-1, tags.unsqueeze(-1)).squeeze(-1)
        loss = -(0.9 * picked + 0.1 / 9 * logs.sum(-1)).mean()  # cause: GS746
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_loss_by_hand_of_real_places() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, head = nn.Embedding(30, 8, padding_idx=0), nn.Linear(8, 9)
    opt = torch.optim.SGD([*words.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        real = torch.arange(7) < torch.randint(2, 7, (16, 1))
        tokens = torch.randint(1, 30, (16, 7)) * real
        tags = (1 + tokens % 8) * real
        logs = head(words(tokens)).log_softmax(dim=-1)
        picked = logs.gather(-1, tags.unsqueeze(-1)).squeeze(-1)
        loss = -(picked * real).sum() / real.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_picked_and_then_selected() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, head = nn.Embedding(30, 8, padding_idx=0), nn.Linear(8, 9)
    opt = torch.optim.SGD([*words.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        real = torch.arange(7) < torch.randint(2, 7, (16, 1))
        tokens = torch.randint(1, 30, (16, 7)) * real
        tags = (1 + tokens % 8) * real
        logs = head(words(tokens)).log_softmax(dim=-1)
        loss = -logs.gather(-1, tags.unsqueeze(-1)).squeeze(-1)[tags != 0].mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
