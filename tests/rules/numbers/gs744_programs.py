"""More programs of GS744: each bad one is reported at its marks, each good one by no rule."""


def bad_positive_and_negatives() -> None:
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    net = nn.Linear(4, 8)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    queue = F.normalize(torch.randn(40, 8), dim=-1)
    for _ in range(3):
        x = torch.randn(16, 4)
        query, key = F.normalize(net(x), dim=-1), F.normalize(net(x + 0.1), dim=-1).detach()
        own = (query * key).sum(dim=-1, keepdim=True)
        logits = torch.cat([own, query @ queue.t()], dim=1)  # effect: GS744
        loss = F.cross_entropy(logits, torch.zeros(16, dtype=torch.long))  # cause: GS744
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_prototypes_of_length_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, prototypes = nn.Linear(4, 8), nn.Parameter(torch.randn(50, 8))
    opt = torch.optim.SGD([*body.parameters(), prototypes], lr=0.1)
    criterion = nn.CrossEntropyLoss()
    for _ in range(3):
        features = body(torch.randn(16, 4))
        features = features / features.norm(dim=1, keepdim=True)
        weights = nn.functional.normalize(prototypes)
        scores = nn.functional.linear(features, weights)  # effect: GS744
        loss = criterion(scores, torch.randint(0, 50, (16,)))  # cause: GS744
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_pairs_by_cosine_similarity() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 8)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(24, 4)
        one, two = net(x), net(x + 0.1 * torch.randn_like(x))
        pairs = torch.cosine_similarity(one.unsqueeze(1), two.unsqueeze(0), dim=2)  # effect: GS744
        loss = nn.functional.cross_entropy(pairs, torch.arange(24))  # cause: GS744
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_temperatures_wherever_they_stand() -> None:
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    net, scale = nn.Linear(4, 8), nn.Parameter(torch.tensor(2.0))
    opt = torch.optim.SGD([*net.parameters(), scale], lr=0.1)
    labels = torch.arange(32)
    for _ in range(3):
        x = torch.randn(32, 4)
        one, two = F.normalize(net(x), dim=1), F.normalize(net(x + 0.1), dim=1)
        loss = F.cross_entropy(scale.exp() * one @ two.t(), labels)
        loss = loss + F.cross_entropy((one / 0.1) @ two.t(), labels)
        loss = loss + F.cross_entropy(
            torch.cosine_similarity(one[:, None], two[None], dim=2).div(0.2), labels
        )
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_scores_that_are_no_cosines() -> None:
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    net, head, few = nn.Linear(4, 8), nn.Linear(8, 32), nn.Parameter(torch.randn(3, 8))
    opt = torch.optim.SGD([*net.parameters(), *head.parameters(), few], lr=0.1)
    for _ in range(3):
        h = F.normalize(net(torch.randn(32, 4)), dim=1)
        columns = net(torch.randn(32, 4))
        loss = F.cross_entropy(head(h), torch.arange(32))
        loss = loss + F.cross_entropy(columns @ h.t(), torch.arange(32))
        loss = loss + F.cross_entropy(h @ F.normalize(few, dim=1).t(), torch.randint(0, 3, (32,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_prototypes_by_einsum_and_their_logarithms() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, prototypes = nn.Linear(6, 8), nn.Parameter(torch.randn(30, 8))
    opt = torch.optim.Adam([*body.parameters(), prototypes], lr=0.01)
    for _ in range(4):
        voice, speaker = body(torch.randn(16, 6)), torch.randint(0, 30, (16,))
        voice = voice / voice.norm(dim=-1, keepdim=True).clamp_min(1e-6)
        known = prototypes / prototypes.pow(2).sum(-1, keepdim=True).sqrt()
        scores = torch.einsum("bd,kd->bk", voice, known)  # effect: GS744
        loss = nn.functional.nll_loss(torch.log_softmax(scores, dim=-1), speaker)  # cause: GS744
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_pairs_on_the_diagonal() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    text, image = nn.Linear(5, 8), nn.Linear(7, 8)
    opt = torch.optim.SGD([*text.parameters(), *image.parameters()], lr=0.1)
    for _ in range(4):
        one = nn.functional.normalize(text(torch.randn(24, 5)), dim=-1)
        two = nn.functional.normalize(image(torch.randn(24, 7)), dim=-1)
        chances = (one @ two.mT).log_softmax(dim=1)  # effect: GS744
        loss = -chances.diagonal().mean()  # cause: GS744
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_scale_that_is_learned_and_logarithms() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, prototypes = nn.Linear(6, 8), nn.Parameter(torch.randn(30, 8))
    scale = nn.Parameter(torch.tensor(2.5))
    opt = torch.optim.Adam([*body.parameters(), prototypes, scale], lr=0.01)
    for _ in range(4):
        voice, speaker = body(torch.randn(16, 6)), torch.randint(0, 30, (16,))
        voice = voice / voice.norm(dim=-1, keepdim=True).clamp_min(1e-6)
        known = prototypes / prototypes.norm(dim=-1, keepdim=True)
        scores = scale.exp() * torch.einsum("bd,kd->bk", voice, known)
        loss = nn.functional.nll_loss(torch.log_softmax(scores, dim=-1), speaker)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_einsum_along_an_axis_that_is_not_of_length_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, prototypes = nn.Linear(6, 8), nn.Parameter(torch.randn(30, 8))
    opt = torch.optim.Adam([*body.parameters(), prototypes], lr=0.01)
    for _ in range(4):
        voice, speaker = body(torch.randn(16, 6)), torch.randint(0, 30, (16,))
        known = prototypes / prototypes.norm(dim=0, keepdim=True)
        scores = torch.einsum("bd,kd->bk", voice, known)
        chances = torch.log_softmax(scores, dim=-1)
        loss = -chances[torch.arange(16), speaker].mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_multiplied_by_the_temperature() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8))
    opt = torch.optim.Adam(body.parameters(), lr=0.01)
    temperature = 0.07
    for _ in range(4):
        seen = torch.randn(32, 6)
        one, two = (body(seen + 0.1 * torch.randn(32, 6)) for _ in range(2))
        one, two = (nn.functional.normalize(rows, dim=1) for rows in (one, two))
        scores = one @ two.t() * temperature  # cause: GS744
        loss = nn.functional.cross_entropy(scores, torch.arange(32))  # effect: GS744
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_large_scale() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8))
    opt = torch.optim.Adam(body.parameters(), lr=0.01)
    for _ in range(4):
        seen = torch.randn(32, 6)
        one, two = (body(seen + 0.1 * torch.randn(32, 6)) for _ in range(2))
        one, two = (nn.functional.normalize(rows, dim=1) for rows in (one, two))
        scores = one @ two.t() / 0.07
        loss = nn.functional.cross_entropy(scores, torch.arange(32))
        opt.zero_grad()
        loss.backward()
        opt.step()
