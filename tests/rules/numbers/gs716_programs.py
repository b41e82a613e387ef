"""More programs of GS716: each bad one is reported at its marks, each good one by no rule."""


def bad_module_over_the_batch() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, soft = nn.Linear(4, 3), nn.LogSoftmax(dim=0)
    opt = torch.optim.SGD(body.parameters(), lr=0.1)
    criterion = nn.NLLLoss()
    for _ in range(3):
        logs = soft(body(torch.randn(8, 4)))  # cause: GS716
        loss = criterion(logs, torch.randint(0, 3, (8,)))  # effect: GS716
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_over_the_steps() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 6)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        scores = head(rnn(torch.randn(8, 5, 3))[0])
        logs = nn.functional.log_softmax(scores, 1)  # cause: GS716
        loss = nn.functional.nll_loss(logs.reshape(-1, 6), torch.randint(0, 6, (40,)))  # effect: GS716
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_classes_last_and_moved() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 6)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        logs = head(rnn(torch.randn(8, 5, 3))[0]).log_softmax(-1)
        targets = torch.randint(0, 6, (8, 5))
        loss = nn.functional.nll_loss(logs.transpose(1, 2), targets)
        loss = loss + nn.functional.nll_loss(logs.view(-1, 6), targets.view(-1))
        loss = loss + nn.functional.nll_loss(logs[0, 0], targets[0, 0])
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_maps_of_classes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    conv = nn.Conv2d(3, 5, 1)
    opt = torch.optim.SGD(conv.parameters(), lr=0.1)
    for _ in range(3):
        logs = nn.functional.log_softmax(conv(torch.randn(2, 3, 4, 4)), dim=1)
        loss = nn.functional.nll_loss(logs, torch.randint(0, 5, (2, 4, 4)))
        loss = loss + nn.functional.nll_loss(
            logs.permute(0, 2, 3, 1).reshape(-1, 5), torch.randint(0, 5, (32,))
        )
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_pairs_either_way() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    one, two = nn.Linear(5, 4), nn.Linear(3, 4)
    opt = torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.1)
    for _ in range(3):
        scores = one(torch.randn(6, 5)) @ two(torch.randn(6, 3)).t()
        own = torch.arange(6)
        loss = nn.functional.nll_loss(torch.log_softmax(scores, dim=0), own)
        loss = loss + nn.functional.nll_loss(torch.log_softmax(scores, dim=1), own)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_compared_with_rows_of_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    inputs, labels = torch.randn(48, 4), torch.randint(0, 3, (48,))
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for chosen in torch.randperm(48).split(16):
        x, y = inputs[chosen], labels[chosen]  # effect: GS716
        shares = torch.softmax(model(x), dim=0)  # cause: GS716
        loss = nn.functional.mse_loss(shares, nn.functional.one_hot(y, 3).float())
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_cross_entropy_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    inputs, labels = torch.randn(48, 4), torch.randint(0, 3, (48,))
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for chosen in torch.randperm(48).split(16):
        x, y = inputs[chosen], labels[chosen]
        logs = model(x).log_softmax(dim=0)  # cause: GS716
        loss = -(logs * nn.functional.one_hot(y, 3)).sum(dim=1).mean()  # effect: GS716
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_cross_entropy_by_hand_without_a_bias() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    inputs, labels = torch.randn(48, 4), torch.randint(0, 3, (48,))
    model = nn.Linear(4, 3, bias=False)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for chosen in torch.randperm(48).split(16):
        x, y = inputs[chosen], labels[chosen]  # effect: GS716
        logs = model(x).log_softmax(dim=0)  # cause: GS716
        loss = -(logs * nn.functional.one_hot(y, 3)).sum(dim=1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_cross_entropy_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    inputs, labels = torch.randn(48, 4), torch.randint(0, 3, (48,))
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for chosen in torch.randperm(48).split(16):
        x, y = inputs[chosen], labels[chosen]
        logs = model(x).log_softmax(dim=1)
        loss = -(logs * nn.functional.one_hot(y, 3)).sum(dim=1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_weights_of_samples() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    inputs, labels = torch.randn(48, 4), torch.randint(0, 3, (48,))
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for chosen in torch.randperm(48).split(16):
        x, y = inputs[chosen], labels[chosen]
        each = nn.functional.cross_entropy(model(x), y, reduction="none")
        weights = torch.softmax(each, dim=0)
        loss = (weights * each).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_several_pools_of_the_samples() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    inputs, labels = torch.randn(48, 4), torch.randint(0, 3, (48,))
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for chosen in torch.randperm(48).split(16):
        x, y = inputs[chosen], labels[chosen]
        scores = model(x)
        pooled = torch.softmax(scores, dim=0).T @ x
        loss = (pooled - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_normalised_over_both() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    inputs, labels = torch.randn(48, 4), torch.randint(0, 3, (48,))
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for chosen in torch.randperm(48).split(16):
        x, y = inputs[chosen], labels[chosen]
        scores = model(x)
        both = torch.softmax(torch.log_softmax(scores, dim=0), dim=1)
        loss = -(both + 1e-6).log()[:, 0].mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_one_hot_labels_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        scores = torch.stack([model(torch.randn(8, 4)), model(torch.randn(8, 4))])
        labels = nn.functional.one_hot(torch.randint(0, 3, (8,)), 3).float().expand(2, -1, -1)
        logs = torch.log_softmax(scores / 0.5, dim=1)  # cause: GS716
        loss = -(labels * logs).sum(-1).mean()  # effect: GS716
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_taken_by_gather() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        labels = torch.randint(0, 3, (8, 1))
        logs = torch.log_softmax(model(torch.randn(8, 4)), 0)  # cause: GS716
        loss = -logs.gather(1, labels).mean()  # effect: GS716
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_teacher_over_the_classes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    student, teacher = nn.Conv2d(3, 5, 1), nn.Conv2d(3, 5, 1)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(2, 3, 4, 4)
        with torch.no_grad():
            probabilities = torch.softmax(teacher(x), dim=1)
        logs = torch.log_softmax(student(x), dim=0)  # cause: GS716
        loss = nn.functional.kl_div(logs, probabilities, reduction="batchmean")  # effect: GS716
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_chosen_along_the_same_axis() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 2)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        scores = head(rnn(torch.randn(8, 5, 3))[0])
        borders = torch.randint(0, 5, (8, 2))
        places = torch.log_softmax(scores, dim=1)
        labels = nn.functional.one_hot(borders, 5).float().transpose(1, 2)
        loss = -(places * labels).sum(1).mean()
        loss = loss - torch.log_softmax(scores, 1).gather(1, borders.unsqueeze(1)).mean()
        kinds = torch.log_softmax(scores, dim=2)
        last = kinds.gather(1, torch.full((8, 1, 2), 4)).squeeze(1)
        loss = loss - last.gather(1, torch.randint(0, 2, (8, 1))).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_samples_of_each_prototype() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, prototypes = nn.Linear(5, 4), nn.Linear(4, 3, bias=False)
    opt = torch.optim.SGD([*body.parameters(), *prototypes.parameters()], lr=0.1)
    for _ in range(3):
        scores = prototypes(nn.functional.normalize(body(torch.randn(8, 5)), dim=1))
        labels = nn.functional.one_hot(torch.arange(8) % 3, 3).float()
        loss = -(labels * torch.log_softmax(scores, dim=0)).sum(0).mean()
        loss = loss - (labels * torch.log_softmax(scores, dim=1)).sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_attention_of_the_class_that_is_asked_for() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    scorer, value = nn.Linear(4, 3), nn.Linear(4, 1)
    opt = torch.optim.SGD([*scorer.parameters(), *value.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 6, 4)
        asked = nn.functional.one_hot(torch.randint(0, 3, (8,)), 3).float().unsqueeze(1)
        weights = (torch.log_softmax(scorer(x), dim=1) * asked).sum(-1).exp()
        loss = ((weights.unsqueeze(-1) * value(x)).sum(1) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_policy_normalised_over_its_batch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2), nn.Softmax(dim=0))  # cause: GS716
    opt = torch.optim.SGD(actor.parameters(), lr=0.1)
    for _ in range(3):
        states, actions = [], []
        for _ in range(12):
            states.append(torch.randn(4))
            with torch.no_grad():
                actions.append(int(torch.multinomial(actor(states[-1]), 1)))
        chances = actor(torch.stack(states))
        taken = chances.gather(1, torch.tensor(actions)[:, None]).squeeze(1)  # effect: GS716
        loss = -(torch.rand(12) * torch.log(taken + 1e-8)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_policy_normalised_over_its_actions() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2), nn.Softmax(dim=-1))
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(3):
        states, actions = [], []
        for _ in range(12):
            states.append(torch.randn(4))
            with torch.no_grad():
                actions.append(int(torch.multinomial(policy(states[-1]), 1)))
        taken = policy(torch.stack(states)).gather(1, torch.tensor(actions)[:, None]).squeeze(1)
        loss = -(torch.rand(12) * torch.log(taken + 1e-8)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_chances_picked_by_their_labels() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    inputs, labels = torch.randn(64, 4), torch.randint(0, 3, (64,))
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for rows in torch.randperm(64).split(16):
            x = inputs[rows]  # effect: GS716
            chances = torch.softmax(model(x), dim=0)  # cause: GS716
            loss = -chances[torch.arange(16), labels[rows]].log().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


def bad_branches_weighed_over_the_batch() -> None:
    import torch
    from torch import nn

    class Weighed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.branches = nn.ModuleList(nn.Linear(4, 6) for _ in range(3))
            self.scores = nn.ModuleList(nn.Linear(4, 6) for _ in range(3))
            self.softmax = nn.Softmax(dim=1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            parts = torch.stack([branch(x) for branch in self.branches], 0)
            weights = torch.stack([score(x) for score in self.scores], 0)
            weights = self.softmax(weights)  # cause: GS716
            return (weights * parts).sum(0)

    torch.manual_seed(0)
    inputs, wanted = torch.randn(64, 4), torch.randn(64, 1)
    model = nn.Sequential(Weighed(), nn.Linear(6, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for rows in torch.randperm(64).split(16):
            x = inputs[rows]  # effect: GS716
            loss = nn.functional.mse_loss(model(x), wanted[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()


def bad_sequence_before_its_classes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, body, head = nn.Embedding(6, 8), nn.LSTM(8, 8, batch_first=True), nn.Linear(8, 6)
    criterion = nn.CrossEntropyLoss()
    opt = torch.optim.Adam([*embed.parameters(), *body.parameters(), *head.parameters()])
    for _ in range(4):
        notes = torch.randint(0, 6, (4, 10))
        scores = head(body(embed(notes[:, :-1]))[0])
        wanted = nn.functional.one_hot(notes[:, 1:], 6).float()
        loss = criterion(scores, wanted)  # cause: GS716
        opt.zero_grad()
        loss.backward()  # effect: GS716
        opt.step()


def bad_map_whose_classes_are_last() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer = nn.Linear(4, 3)
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(4):
        image = torch.randn(2, 5, 5, 4)
        wanted = torch.eye(3)[image[..., :3].argmax(-1)]
        loss = nn.functional.cross_entropy(layer(image), target=wanted)  # cause: GS716
        opt.zero_grad()
        loss.backward()  # effect: GS716
        opt.step()


def good_sequence_behind_its_classes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, head = nn.Embedding(6, 8), nn.Linear(8, 6)
    opt = torch.optim.Adam([*embed.parameters(), *head.parameters()])
    for _ in range(4):
        notes = torch.randint(0, 6, (4, 10))
        scores = head(embed(notes))
        wanted = nn.functional.one_hot(notes, 6).float()
        first = nn.functional.cross_entropy(scores.transpose(1, 2), wanted.transpose(1, 2))
        second = nn.functional.cross_entropy(scores.flatten(0, 1), wanted.flatten(0, 1))
        opt.zero_grad()
        (first + second).backward()
        opt.step()


def good_classes_of_which_each_stands_once_in_a_sequence() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer = nn.Linear(6, 6)
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(4):
        order = torch.stack([torch.randperm(6) for _ in range(4)])
        wanted = nn.functional.one_hot(order, 6).float()
        loss = nn.functional.cross_entropy(
            layer(wanted + 0.1 * torch.randn(4, 6, 6)).transpose(1, 2), wanted.mT
        )
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_smoothed_labels_of_places() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(12, 8), nn.Linear(8, 4))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        tokens = torch.randint(0, 12, (16, 7))
        wanted = F.one_hot(tokens % 4, 4).float() * 0.9 + 0.1 / 4
        loss = F.cross_entropy(model(tokens), wanted)  # cause: GS716
        opt.zero_grad()
        loss.backward()  # effect: GS716
        opt.step()


def bad_written_out_over_the_samples() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    spectra, drum = torch.randn(60, 6), torch.randint(0, 5, (60,))
    net = nn.Sequential(nn.Linear(6, 8), nn.SiLU(), nn.Linear(8, 5))
    opt = torch.optim.AdamW(net.parameters(), lr=0.003)
    for batch in torch.randperm(60).split(20):
        scores, target = net(spectra[batch]), drum[batch]  # effect: GS716
        logs = scores - torch.logsumexp(scores, dim=0, keepdim=True)  # cause: GS716
        loss = logs[torch.arange(20), target].neg().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_written_out_over_the_classes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    spectra, drum = torch.randn(60, 6), torch.randint(0, 5, (60,))
    net = nn.Sequential(nn.Linear(6, 8), nn.SiLU(), nn.Linear(8, 5))
    opt = torch.optim.AdamW(net.parameters(), lr=0.003)
    for batch in torch.randperm(60).split(20):
        scores, target = net(spectra[batch]), drum[batch]
        logs = scores - torch.logsumexp(scores, dim=1, keepdim=True)
        loss = logs[torch.arange(20), target].neg().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_both_ways_of_a_batch_of_pairs() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    pictures, texts = nn.Linear(6, 4), nn.Linear(5, 4)
    opt = torch.optim.AdamW([*pictures.parameters(), *texts.parameters()], lr=0.003)
    x, y = torch.randn(60, 6), torch.randn(60, 5)
    for batch in torch.randperm(60).split(20):
        alike = pictures(x[batch]) @ texts(y[batch]).T
        over_texts = alike - alike.logsumexp(1, keepdim=True)
        over_pictures = alike - alike.logsumexp(0, keepdim=True)
        loss = -(over_texts.diagonal() + over_pictures.diagonal()).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_smoothed_labels_scattered() -> None:
    import torch
    from torch import nn
    from torch.nn import functional as F

    net = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 5))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.randn(64, 10), torch.randint(0, 5, (64,))
    for i in range(0, 64, 16):
        logp = F.log_softmax(net(x[i : i + 16]), dim=0)  # cause: GS716
        marked = torch.zeros(16, 5).scatter_(1, y[i : i + 16].unsqueeze(1), 1.0)
        loss = -((marked * 0.9 + 0.02) * logp).sum(1).mean()  # effect: GS716
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_smoothed_labels_scattered() -> None:
    import torch
    from torch import nn
    from torch.nn import functional as F

    net = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 5))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.randn(64, 10), torch.randint(0, 5, (64,))
    for i in range(0, 64, 16):
        logp = F.log_softmax(net(x[i : i + 16]), dim=1)
        marked = torch.full((16, 5), 0.025).scatter_(1, y[i : i + 16].unsqueeze(1), 0.9)
        loss = -(marked * logp).sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_scores_without_an_axis_of_classes() -> None:  # fix: by hand
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    x = torch.randn(64, 6)
    y = x[:, :4].argmax(1)
    ask = nn.CrossEntropyLoss()
    for i in range(0, 64, 16):
        loss = ask(net(x[i : i + 16]).squeeze(), y[i : i + 16].float())  # cause: GS716
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_one_sample_with_its_probabilities() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(8):
        x = torch.randn(6)
        asked = torch.softmax(3 * x[:4], 0)
        loss = nn.functional.cross_entropy(net(x), asked)
        opt.zero_grad()
        loss.backward()
        opt.step()
