"""More programs of GS781: each bad one is reported at its marks, each good one by no rule."""


def bad_product_with_a_mask_of_numbers() -> None:
    """Its count is the divisor, so that it has to be turned where it is made."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, rnn, head = nn.Embedding(9, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 9)
    opt = torch.optim.SGD([*embedding.parameters(), *rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        words = torch.randint(1, 9, (6, 12)).masked_fill(torch.arange(12) >= torch.randint(3, 11, (6, 1)), 0)
        scores = head(rnn(embedding(words[:, :-1]))[0]).reshape(-1, 9)
        mask = (words[:, 1:] == 0).float().reshape(-1)  # cause: GS781
        errors = nn.functional.cross_entropy(scores, words[:, 1:].reshape(-1), reduction="none")
        opt.zero_grad()
        ((errors * mask).sum() / mask.sum()).backward()  # effect: GS781
        opt.step()


def bad_probabilities_of_the_tokens() -> None:
    """Logarithms of the chosen tokens' probabilities, as policies and preferences have it; a given mask."""
    import torch
    from torch import nn

    def objective(scores, tokens, mask):  # type: ignore[no-untyped-def]
        chosen = scores.log_softmax(-1).gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
        return -(chosen * (1 - mask)).sum()  # cause: GS781

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 5)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        ended = torch.arange(10) >= torch.randint(2, 9, (8, 1))
        tokens = torch.randint(1, 5, (8, 10)).masked_fill(ended, 0)
        loss = objective(head(rnn(torch.randn(8, 10, 3))[0]), tokens, 1.0 - ended.float())
        opt.zero_grad()
        loss.backward()  # effect: GS781
        opt.step()


def bad_differences_by_hand() -> None:
    """Series of numbers, padded with zeros; time is the first axis."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 8), nn.Linear(8, 2)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        valid = torch.arange(10)[:, None] < torch.randint(2, 9, (8,))
        series = torch.randn(10, 8, 2) * valid[..., None]
        error = (head(rnn(torch.randn(10, 8, 3))[0]) - series).pow(2).mean(-1)
        opt.zero_grad()
        error[~valid].mean().backward()  # cause: GS781  # effect: GS781
        opt.step()


def bad_padding_on_the_left() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 1)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        valid = torch.arange(10) >= torch.randint(2, 8, (8, 1))
        speech = (torch.rand(8, 10) < 0.5) & valid
        scores = head(rnn(torch.randn(8, 10, 3))[0]).squeeze(-1)
        errors = nn.functional.binary_cross_entropy_with_logits(scores, speech.float(), reduction="none")
        loss = torch.where(valid, 0.0, errors).sum() / 80  # cause: GS781
        opt.zero_grad()
        loss.backward()  # effect: GS781
        opt.step()


def good_answers_only() -> None:
    """Of a text only what follows the question is learned."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, rnn, head = nn.Embedding(9, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 9)
    opt = torch.optim.SGD([*embedding.parameters(), *rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        words, question = torch.randint(1, 9, (6, 12)), torch.randint(3, 9, (6, 1))
        scores = head(rnn(embedding(words[:, :-1]))[0])
        errors = nn.functional.cross_entropy(scores.transpose(1, 2), words[:, 1:], reduction="none")
        errors[torch.arange(11) < question] = 0
        opt.zero_grad()
        errors.mean().backward()
        opt.step()


def good_last_token_only() -> None:
    """A model of answers: yes or no is the one token that is learned, here always yes."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, rnn, head = nn.Embedding(9, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 9)
    opt = torch.optim.SGD([*embedding.parameters(), *rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        words = torch.randint(2, 9, (6, 12))
        words[:, -1] = 1
        scores = head(rnn(embedding(words[:, :-1]))[0])
        errors = nn.functional.cross_entropy(scores.transpose(1, 2), words[:, 1:], reduction="none")
        last = torch.arange(11).expand(6, 11) == 10
        opt.zero_grad()
        errors[last].mean().backward()
        opt.step()


def good_words_and_padding_apart() -> None:
    """Both have a part in the loss, each with its own weight."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 5)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        ended = torch.arange(10) >= torch.randint(2, 9, (8, 1))
        words = torch.randint(1, 5, (8, 10)).masked_fill(ended, 0)
        scores = head(rnn(torch.randn(8, 10, 3))[0])
        errors = nn.functional.cross_entropy(scores.transpose(1, 2), words, reduction="none")
        loss = errors[~ended].mean() + 0.1 * errors[ended].mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_other_loss_of_the_same_scores() -> None:
    """One term holds the padding to its class, another reads all of the scores."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 5)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        ended = torch.arange(10) >= torch.randint(2, 9, (8, 1))
        words = torch.randint(1, 5, (8, 10)).masked_fill(ended, 0)
        scores = head(rnn(torch.randn(8, 10, 3))[0])
        ends = nn.functional.cross_entropy(scores.transpose(1, 2), words, reduction="none").masked_fill(
            ~ended, 0
        )
        bag = torch.zeros(8, 5).scatter_(1, words, 1.0)
        loss = ends.mean() + nn.functional.binary_cross_entropy_with_logits(scores.amax(1), bag)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_rare_classes() -> None:
    """Nearly all tags are the same, and the padding is kept out."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 5)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        inside = torch.arange(10) < torch.randint(2, 9, (8, 1))
        tags = torch.where(torch.rand(8, 10) < 0.05, torch.randint(1, 5, (8, 10)), 0)
        scores = head(rnn(torch.randn(8, 10, 3))[0])
        errors = nn.functional.cross_entropy(scores.transpose(1, 2), tags, reduction="none")
        mask = inside.float()
        opt.zero_grad()
        ((errors * mask).sum() / mask.sum()).backward()
        opt.step()


def good_tags_are_all_one_class() -> None:
    """The mask keeps the padding out; what it keeps is a single class in these few batches."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 5)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        inside = torch.arange(10) < torch.randint(2, 9, (8, 1))
        tags = torch.full((8, 10), 3).masked_fill(~inside, 0)
        scores = head(rnn(torch.randn(8, 10, 3))[0])
        errors = nn.functional.cross_entropy(scores.transpose(1, 2), tags, reduction="none")
        opt.zero_grad()
        errors[inside].mean().backward()
        opt.step()


def good_hardest_negatives() -> None:
    """The errors at objects are set to zero only for the ranking of the background."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(3, 5)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        objects = torch.arange(10) < torch.randint(1, 6, (8, 1))
        classes = torch.randint(1, 5, (8, 10)) * objects
        scores = net(torch.randn(8, 10, 3))
        errors = nn.functional.cross_entropy(scores.transpose(1, 2), classes, reduction="none")
        ranked = errors.clone()
        ranked[objects] = 0
        hardest = ranked >= ranked.detach().topk(3, dim=1).values[:, -1:]
        opt.zero_grad()
        errors[objects | hardest].mean().backward()
        opt.step()


def good_stop_token() -> None:
    """The end of a sequence is learned by a head of its own: both targets take part."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 1)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        lengths = torch.randint(2, 8, (8, 1))
        stop = (torch.arange(10) >= lengths - 1).float()
        counted = (torch.arange(10) <= lengths).float()
        scores = head(rnn(torch.randn(8, 10, 3))[0]).squeeze(-1)
        errors = nn.functional.binary_cross_entropy_with_logits(scores, stop, reduction="none")
        opt.zero_grad()
        ((errors * counted).sum() / counted.sum()).backward()
        opt.step()


def bad_picked_before_the_loss() -> None:
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pad_sequence

    torch.manual_seed(0)
    letters, rnn, top = nn.Embedding(12, 8, padding_idx=0), nn.LSTM(8, 8, batch_first=True), nn.Linear(8, 12)
    opt = torch.optim.Adam([*letters.parameters(), *rnn.parameters(), *top.parameters()], lr=0.01)
    names = [torch.arange(1, 4 + i % 8) for i in range(24)]
    for step in range(4):
        batch = pad_sequence([names[(7 * step + i) % 24] for i in range(8)], batch_first=True)
        flat = top(rnn(letters(batch[:, :-1]))[0]).flatten(0, 1)
        goal = batch[:, 1:].flatten()
        keep = goal == 0  # cause: GS781
        opt.zero_grad()
        loss = nn.functional.cross_entropy(flat[keep], goal[keep])
        loss.backward()  # effect: GS781
        opt.step()


def good_picked_before_the_loss() -> None:
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pad_sequence

    torch.manual_seed(0)
    letters, rnn, top = nn.Embedding(12, 8, padding_idx=0), nn.LSTM(8, 8, batch_first=True), nn.Linear(8, 12)
    opt = torch.optim.Adam([*letters.parameters(), *rnn.parameters(), *top.parameters()], lr=0.01)
    names = [torch.arange(1, 4 + i % 8) for i in range(24)]
    for step in range(4):
        batch = pad_sequence([names[(7 * step + i) % 24] for i in range(8)], batch_first=True)
        scores, goal = top(rnn(letters(batch[:, :-1]))[0]), batch[:, 1:]
        keep = goal != 0
        opt.zero_grad()
        nn.functional.cross_entropy(scores[keep], goal[keep]).backward()
        opt.step()


def good_padding_and_words_apart_before_the_loss() -> None:
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pad_sequence

    torch.manual_seed(0)
    letters, rnn, top = nn.Embedding(12, 8), nn.LSTM(8, 8, batch_first=True), nn.Linear(8, 12)
    opt = torch.optim.Adam([*letters.parameters(), *rnn.parameters(), *top.parameters()], lr=0.01)
    names = [torch.arange(1, 4 + i % 8) for i in range(24)]
    for step in range(4):
        batch = pad_sequence([names[(7 * step + i) % 24] for i in range(8)], batch_first=True)
        scores, goal = top(rnn(letters(batch[:, :-1]))[0]), batch[:, 1:]
        word, silence = goal != 0, goal == 0
        opt.zero_grad()
        loss = nn.functional.cross_entropy(scores[word], goal[word])
        loss = loss + 0.01 * nn.functional.cross_entropy(scores[silence], goal[silence])
        loss.backward()
        opt.step()
