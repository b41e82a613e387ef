"""More programs of GS702: each bad one is reported at its marks, each good one by no rule."""


def bad_sigmoid() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    criterion = nn.BCEWithLogitsLoss()
    opt = torch.optim.Adam(model.parameters())
    for _ in range(3):
        opt.zero_grad()
        out = torch.sigmoid(model(torch.randn(8, 4)))  # cause: GS702
        loss = criterion(out.squeeze(1), torch.randint(0, 2, (8,)).float())  # effect: GS702
        loss.backward()
        opt.step()


def bad_log_softmax() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.Adam(model.parameters())
    for _ in range(3):
        opt.zero_grad()
        out = model(torch.randn(8, 4)).softmax(dim=-1)  # cause: GS702
        logs = torch.log_softmax(out, dim=-1)  # effect: GS702
        nn.functional.nll_loss(logs, torch.randint(0, 3, (8,))).backward()
        opt.step()


def bad_reshaped() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        chances = model(torch.randn(5, 4)).softmax(dim=0)  # cause: GS702
        loss = nn.functional.cross_entropy(chances.ravel().resize(1, 5), torch.tensor([0]))  # effect: GS702
        loss.backward()
        opt.step()


def bad_exponential() -> None:  # fix: by hand
    import torch
    from torch import nn

    model, activation = nn.Linear(4, 3), nn.LogSoftmax(dim=1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        chances = torch.exp(activation(model(torch.randn(8, 4))))  # cause: GS702
        loss = nn.functional.cross_entropy(chances, torch.randint(0, 3, (8,)))  # effect: GS702
        loss.backward()
        opt.step()


def bad_labels_mixed() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.nn import functional

    encoder = nn.Linear(4, 6)
    criterion = nn.CrossEntropyLoss()
    opt = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        support, labels = encoder(torch.randn(2, 5, 4)), torch.randint(0, 3, (2, 5))
        one_hot = torch.zeros(2, 5, 3).scatter_(2, labels.unsqueeze(2), 1)
        similar = torch.bmm(support, encoder(torch.randn(2, 4)).unsqueeze(2)).squeeze(2)
        attention = functional.softmax(similar, dim=1)  # cause: GS702
        guessed = attention.unsqueeze(1).bmm(one_hot).squeeze(1)
        criterion(guessed, labels[:, 0]).backward()  # effect: GS702
        opt.step()


def bad_labels_weighted() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.nn import functional

    encoder = nn.Linear(4, 6)
    opt = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        labels = torch.randint(0, 3, (5,))
        weights = (encoder(torch.randn(2, 4)) @ encoder(torch.randn(5, 4)).T).softmax(1)  # cause: GS702
        guessed = (weights.unsqueeze(2) * functional.one_hot(labels, 3)).sum(1)
        functional.cross_entropy(guessed, torch.randint(0, 3, (2,))).backward()  # effect: GS702
        opt.step()


def good_labels_mixed() -> None:
    import torch
    from torch import nn
    from torch.nn import functional

    encoder = nn.Linear(4, 6)
    opt = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        labels = torch.eye(3)[torch.randint(0, 3, (5,))]
        scores = encoder(torch.randn(2, 4)) @ encoder(torch.randn(5, 4)).T
        guessed = scores.softmax(1) @ labels
        loss = functional.nll_loss((guessed + 1e-6).log(), torch.randint(0, 3, (2,)))
        (loss + functional.cross_entropy(scores @ labels, torch.randint(0, 3, (2,)))).backward()
        opt.step()


def good_values_mixed() -> None:
    import torch
    from torch import nn

    encoder = nn.Linear(4, 6)
    opt = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        values = torch.zeros(5, 3).scatter_(1, torch.randint(0, 3, (5, 2)), torch.randn(5, 2))
        guessed = (encoder(torch.randn(2, 4)) @ encoder(torch.randn(5, 4)).T).softmax(1) @ values
        nn.functional.cross_entropy(guessed, torch.randint(0, 3, (2,))).backward()
        opt.step()


def bad_while_evaluating() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    criterion = nn.BCEWithLogitsLoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        criterion(model(torch.randn(8, 4)), torch.rand(8, 1)).backward()
        opt.step()
    with torch.no_grad():
        chances = torch.sigmoid(model(torch.randn(8, 4)))  # cause: GS702
        print(criterion(chances, torch.rand(8, 1)))  # effect: GS702


def good_log_softmax() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 3), nn.LogSoftmax(dim=1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        nn.functional.nll_loss(model(torch.randn(8, 4)), torch.randint(0, 3, (8,))).backward()
        opt.step()


def good_distillation() -> None:
    import torch
    from torch import nn

    teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 4)
        with torch.no_grad():
            wanted = teacher(x).softmax(dim=1)
        scores = student(x)
        soft = nn.functional.kl_div(scores.log_softmax(dim=1), wanted, reduction="batchmean")
        (soft + nn.functional.cross_entropy(scores, wanted)).backward()
        opt.step()


def good_exponential() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(3):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)).exp(), torch.randint(0, 3, (8,))).backward()
        opt.step()


def good_attention() -> None:
    import torch
    from torch import nn

    gate, head = nn.Linear(4, 4), nn.Linear(4, 3)
    opt = torch.optim.SGD([*gate.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 4)
        scores = head(x * gate(x).softmax(dim=1))
        nn.functional.cross_entropy(scores, torch.randint(0, 3, (8,))).backward()
        opt.step()


def good_scaled() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        bounded = torch.sigmoid(model(torch.randn(8, 4))) * 20 - 10
        nn.functional.cross_entropy(bounded, torch.randint(0, 3, (8,))).backward()
        opt.step()


def bad_probabilities_needed_for_both_classes() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        target = F.one_hot(torch.randint(0, 2, (8,)), 2).float()
        p = torch.sigmoid(model(torch.randn(8, 4)))  # cause: GS702
        both = torch.cat([1 - p, p], dim=1)
        weight = (1 - both * target).detach()
        loss = F.binary_cross_entropy_with_logits(both, target, weight)  # effect: GS702
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_probabilities_needed_for_both_classes() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        target = F.one_hot(torch.randint(0, 2, (8,)), 2).float()
        p = torch.sigmoid(model(torch.randn(8, 4)))
        both = torch.cat([1 - p, p], dim=1)
        weight = (1 - both * target).detach()
        loss = F.binary_cross_entropy(both, target, weight)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_probabilities_as_logits_of_a_distribution() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3), nn.Softmax(dim=-1))
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 4)
        probabilities = policy(x)  # cause: GS702
        actions = torch.distributions.Categorical(logits=probabilities)  # effect: GS702
        taken = actions.sample()
        reward = (taken == x[:, :3].argmax(1)).float()
        loss = -(actions.log_prob(taken) * (reward - reward.mean())).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_scores_and_probabilities_of_distributions() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, policy = nn.Linear(4, 16), nn.Linear(16, 3)
    opt = torch.optim.Adam([*body.parameters(), *policy.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 4)
        scores = policy(torch.tanh(body(x)))
        one = torch.distributions.Categorical(logits=scores)
        two = torch.distributions.Categorical(probs=scores.softmax(-1))
        three = torch.distributions.Categorical(logits=scores.log_softmax(-1))
        taken = one.sample()
        reward = (taken == x[:, :3].argmax(1)).float()
        loss = sum(-(d.log_prob(taken) * (reward - reward.mean())).mean() for d in (one, two, three))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_both_written_out() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Weather(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.out = nn.Linear(6, 4)

        def forward(self, days: torch.Tensor) -> torch.Tensor:
            z = self.out(days)
            e = torch.exp(z - z.amax(dim=1, keepdim=True).detach())
            return e / e.sum(dim=1, keepdim=True)  # cause: GS702

    def penalty(scores: torch.Tensor, kind: torch.Tensor) -> torch.Tensor:
        picked = scores.gather(1, kind.unsqueeze(1)).squeeze(1)
        return (torch.logsumexp(scores, dim=1) - picked).mean()  # effect: GS702

    net = Weather()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(4):
        opt.zero_grad()
        penalty(net(torch.randn(16, 6)), torch.randint(4, (16,))).backward()
        opt.step()


def bad_log_softmax_whose_places_are_picked() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(6, 4)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(4):
        kind = torch.randint(4, (16,))
        chances = torch.softmax(net(torch.randn(16, 6)), dim=1)  # cause: GS702
        logp = torch.log_softmax(chances, dim=1)  # effect: GS702
        loss = -logp[torch.arange(16), kind].mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_attention_written_out() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    ask, out = nn.Linear(6, 1), nn.Linear(6, 4)
    opt = torch.optim.Adam([*ask.parameters(), *out.parameters()], lr=0.01)
    for _ in range(4):
        days, kind = torch.randn(16, 5, 6), torch.randint(4, (16,))
        z = ask(days)
        e = torch.exp(z - z.amax(dim=1, keepdim=True).detach())
        scores = out((days * (e / e.sum(dim=1, keepdim=True))).sum(1))
        loss = (torch.logsumexp(scores, dim=1) - scores.gather(1, kind.unsqueeze(1)).squeeze(1)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_logarithm_of_a_softmax_written_out() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, centres = nn.Linear(6, 3), torch.randn(4, 3)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(4):
        kind = torch.randint(4, (16,))
        e = torch.exp(-torch.cdist(net(torch.randn(16, 6)), centres))
        chances = e / e.sum(dim=1, keepdim=True)
        loss = -torch.log(chances.gather(1, kind[:, None])).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_an_evaluation_takes_them_for_probabilities() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())  # related: GS702
    loss_fn = nn.BCEWithLogitsLoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 4)
        y = (x[:, :1] > 0).float()
        opt.zero_grad()
        p = model(x)  # cause: GS702
        loss_fn(p, y).backward()  # effect: GS702
        opt.step()
        with torch.no_grad():
            x = torch.randn(16, 4)
            p = model(x)
            right = (p > 0.5) == (x[:, :1] > 0)  # related: GS702
        print(right.float().mean())


def bad_sigmoid_by_hand_before_a_soft_margin() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(6, 5)
    criterion = nn.MultiLabelSoftMarginLoss()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(5):
        x = torch.randn(24, 6)
        p = 1 / (1 + torch.exp(-net(x)))  # cause: GS702
        loss = criterion(p, (x[:, :5] > 0).float())  # effect: GS702
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_quotients_that_are_no_sigmoid() -> None:
    """Scores that fall with a distance, `1 / (1 + d)`, and a sigmoid by hand whose logarithm the loss takes itself."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, other = nn.Linear(6, 5), nn.Linear(6, 5)
    opt = torch.optim.Adam([*net.parameters(), *other.parameters()], lr=5e-3)
    for _ in range(5):
        x = torch.randn(24, 6)
        y = (x[:, :5] > 0).float()
        p = 1 / (1 + torch.exp(-other(x)))
        loss = nn.functional.multilabel_soft_margin_loss(8 / (1 + net(x).square()) - 4, y)
        loss = loss + nn.functional.binary_cross_entropy(p, y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_needed_besides() -> None:
    import torch
    from torch import nn

    class Pointer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.score, self.value, self.out = nn.Linear(4, 1), nn.Linear(4, 4), nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            weights = self.score(x).squeeze(2).softmax(dim=1)  # cause: GS702
            mixed = torch.bmm(weights.unsqueeze(1), self.value(x)).squeeze(1)
            return weights, self.out(torch.relu(mixed))

    model = Pointer()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x, place, kind = torch.randn(8, 5, 4), torch.randint(5, (8,)), torch.randint(2, (8,))
        weights, kinds = model(x)
        pointed = nn.functional.cross_entropy(weights, place)  # effect: GS702
        loss = pointed + nn.functional.cross_entropy(kinds, kind)
        opt.zero_grad()
        loss.backward()
        opt.step()
