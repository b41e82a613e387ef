"""More programs of GS706: each bad one is reported at its marks, each good one by no rule."""


def bad_mixture_of_probabilities() -> None:
    import torch
    from torch import nn

    experts, gate = nn.Linear(4, 6), nn.Linear(4, 2)
    opt = torch.optim.SGD([*experts.parameters(), *gate.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 4)
        each = experts(x).view(8, 2, 3).softmax(dim=2)
        mixed = (gate(x).softmax(dim=1).unsqueeze(2) * each).sum(dim=1)  # cause: GS706
        nn.functional.nll_loss(mixed, torch.randint(0, 3, (8,))).backward()  # effect: GS706
        opt.step()


def good_mixture_of_probabilities() -> None:
    import torch
    from torch import nn

    experts, gate = nn.Linear(4, 6), nn.Linear(4, 2)
    opt = torch.optim.SGD([*experts.parameters(), *gate.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 4)
        each = experts(x).view(8, 2, 3).softmax(dim=2)
        mixed = (gate(x).softmax(dim=1).unsqueeze(2) * each).sum(dim=1)
        nn.functional.nll_loss((mixed + 1e-9).log(), torch.randint(0, 3, (8,))).backward()
        opt.step()


def bad_scores() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    criterion = nn.NLLLoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        scores = model(torch.randn(8, 4))  # cause: GS706
        loss = criterion(scores, torch.randint(0, 3, (8,)))  # effect: GS706
        loss.backward()
        opt.step()


def bad_while_evaluating() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,))).backward()
        opt.step()
    with torch.no_grad():
        chances = nn.functional.softmax(model(torch.randn(8, 4)), dim=1)  # cause: GS706
        print(nn.functional.nll_loss(chances, torch.randint(0, 3, (8,))))  # effect: GS706


def bad_divergence_of_probabilities() -> None:
    import torch
    from torch import nn

    model, criterion = nn.Linear(4, 3), nn.KLDivLoss(reduction="batchmean")
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 4)
        mine = torch.softmax(model(x), dim=1)  # cause: GS706
        criterion(mine, x[:, :3].softmax(dim=1)).backward()  # effect: GS706
        opt.step()


def good_divergence() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 4)
        chances = model(x).softmax(dim=1)
        soft = x[:, :3].softmax(dim=1)
        both = nn.functional.kl_div(model(x).log_softmax(dim=1), soft, reduction="batchmean")
        (both + nn.functional.kl_div(chances.log(), soft, reduction="batchmean")).backward()
        opt.step()


def good_log_of_softmax() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        logs = torch.log(model(torch.randn(8, 4)).softmax(dim=1) + 1e-8)
        nn.functional.nll_loss(logs.view(8, 3), torch.randint(0, 3, (8,))).backward()
        opt.step()


def good_normalised_by_hand() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        scores = model(torch.randn(8, 4))
        logs = scores - scores.logsumexp(dim=1, keepdim=True)
        nn.functional.nll_loss(logs, torch.randint(0, 3, (8,))).backward()
        opt.step()


def bad_ctc_of_packed_scores() -> None:
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    rnn, out = nn.GRU(4, 8), nn.Linear(8, 5)
    opt = torch.optim.SGD([*rnn.parameters(), *out.parameters()], lr=0.1)
    criterion = nn.CTCLoss()
    lengths = torch.tensor([7, 6])
    for _ in range(3):
        packed, _ = rnn(pack_padded_sequence(torch.randn(7, 2, 4), lengths))
        scores, _ = pad_packed_sequence(packed._replace(data=out(packed.data)))  # cause: GS706
        loss = criterion(scores, torch.randint(1, 5, (2, 3)), lengths, torch.tensor([3, 3]))  # effect: GS706
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_ctc_of_packed_log_probabilities() -> None:
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    rnn, out = nn.GRU(4, 8), nn.Linear(8, 5)
    opt = torch.optim.SGD([*rnn.parameters(), *out.parameters()], lr=0.1)
    criterion = nn.CTCLoss()
    lengths = torch.tensor([7, 6])
    for _ in range(3):
        packed, _ = rnn(pack_padded_sequence(torch.randn(7, 2, 4), lengths))
        scores, _ = pad_packed_sequence(packed._replace(data=out(packed.data).log_softmax(-1)))
        loss = criterion(scores, torch.randint(1, 5, (2, 3)), lengths, torch.tensor([3, 3]))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_exponential_of_the_loss() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    def scores(model, x):
        return F.softmax(model(x), dim=1)

    def contrastive(model, x, y):
        return torch.exp(F.nll_loss(scores(model, x), y))  # cause: GS706  # effect: GS706

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 4)
        opt.zero_grad()
        contrastive(model, x, x[:, :3].argmax(1)).backward()
        opt.step()
    with torch.no_grad():
        print(scores(model, torch.randn(16, 4)).max(1).values.mean().item())


def bad_a_softmax_by_hand_in_the_model() -> None:
    import torch
    from torch import nn

    class Speller(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.out = nn.Embedding(14, 12), nn.Linear(12, 14)

        def forward(self, text: torch.Tensor) -> torch.Tensor:
            grown: torch.Tensor = self.out(self.table(text)).exp()
            return grown / grown.sum(-1, keepdim=True)  # cause: GS706

    torch.manual_seed(0)
    speller, criterion = Speller(), nn.NLLLoss()
    opt = torch.optim.Adam(speller.parameters(), lr=5e-3)
    for _ in range(4):
        text = (torch.randint(0, 14, (16, 1)) + 5 * torch.arange(9)) % 14
        share = speller(text[:, :-1])
        loss = criterion(share.transpose(1, 2), text[:, 1:])  # effect: GS706
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_logarithm_of_a_softmax_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    table, out, criterion = nn.Embedding(14, 12), nn.Linear(12, 14), nn.NLLLoss()
    opt = torch.optim.Adam([*table.parameters(), *out.parameters()], lr=5e-3)
    for _ in range(4):
        text = (torch.randint(0, 14, (16, 1)) + 5 * torch.arange(9)) % 14
        grown = out(table(text[:, :-1])).exp()
        share = grown / grown.sum(-1, keepdim=True)
        loss = criterion(share.log().transpose(1, 2), text[:, 1:])
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_divergence_of_a_softmax_by_hand() -> None:
    import torch
    from torch import nn

    class Song(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.species = nn.Linear(6, 5)

        def forward(self, song: torch.Tensor) -> torch.Tensor:
            z = self.species(song)
            e = torch.exp(z - z.amax(-1, keepdim=True))
            return e / e.sum(-1, keepdim=True)  # cause: GS706

    torch.manual_seed(0)
    net, distance = Song(), nn.KLDivLoss(reduction="batchmean")
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(4):
        song = torch.randn(16, 6)
        votes = torch.softmax(3 * song[:, :5], dim=-1)
        gap = distance(net(song), votes)  # effect: GS706
        opt.zero_grad()
        gap.backward()
        opt.step()


def good_divergence_of_logarithms_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, distance = nn.Linear(6, 5), nn.KLDivLoss(reduction="batchmean")
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(4):
        song = torch.randn(16, 6)
        votes = torch.exp(3 * song[:, :5])
        votes = votes / votes.sum(-1, keepdim=True)
        z = net(song)
        e = torch.exp(z - z.amax(-1, keepdim=True))
        gap = distance((e / e.sum(-1, keepdim=True)).log(), votes) + distance(
            z - z.exp().sum(-1, True).log(), votes
        )
        opt.zero_grad()
        gap.backward()
        opt.step()


def bad_scores_until_they_are_infinite() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    centers, labels = torch.randn(6, 20), torch.randint(0, 6, (200,))
    points = centers[labels] + 0.9 * torch.randn(200, 20)
    first, last = nn.Linear(20, 64), nn.Linear(64, 6)
    opt = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=1.0)
    for _ in range(60):
        scores = last(torch.relu(first(points)))  # cause: GS706
        loss = nn.functional.nll_loss(scores, labels)  # effect: GS706
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_scores_in_a_criterion_of_its_own() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)

    class Parts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.kind, self.part = nn.Linear(4, 8), nn.Linear(8, 3), nn.Linear(8, 2)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            h = torch.relu(self.body(x))
            return self.kind(h), F.log_softmax(self.part(h), 1)  # cause: GS706

    class BothLosses(nn.Module):
        def __init__(self, share: float = 0.5) -> None:
            super().__init__()
            self.share = share

        def forward(self, kind, label, part, place):
            at_part = F.nll_loss(part, place)
            at_kind = F.nll_loss(kind, label)  # effect: GS706
            return self.share * at_part + (1 - self.share) * at_kind

    model, criterion = Parts(), BothLosses()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        x = torch.randn(16, 4)
        kind, part = model(x)
        loss = criterion(kind, x[:, :3].argmax(1), part, (x[:, 0] > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_layer_in_a_criterion_of_its_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class OneLoss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.nll = nn.NLLLoss()

        def forward(self, scores, label):
            return 2 * self.nll(scores, label)  # effect: GS706

    model, criterion = nn.Linear(4, 3), OneLoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(16, 4)
        loss = criterion(model(x), x[:, :3].argmax(1))  # cause: GS706
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_criterion_of_its_own() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)

    class BothLosses(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.nll = nn.NLLLoss()

        def forward(self, scores, label):
            return self.nll(F.log_softmax(scores, 1), label) + F.nll_loss(scores.log_softmax(1), label)

    model, criterion = nn.Linear(4, 3), BothLosses()
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(16, 4)
        opt.zero_grad()
        criterion(model(x), x[:, :3].argmax(1)).backward()
        opt.step()
