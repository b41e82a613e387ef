"""More programs of GS745: each bad one is reported at its marks, each good one by no rule."""


def bad_cut_in_order() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    inputs, labels = torch.randn(120, 4), torch.arange(6).repeat_interleave(20)
    model = nn.Linear(4, 6)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(0, 120, 8):
        y = labels[i : i + 8]  # cause: GS745
        loss = nn.functional.cross_entropy(model(inputs[i : i + 8]), y)  # effect: GS745
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_two_domains_by_turns() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    features, judge = nn.Linear(4, 4), nn.Linear(4, 2)
    opt = torch.optim.SGD([*features.parameters(), *judge.parameters()], lr=0.1)
    for step in range(8):
        domain = torch.zeros(16).long() if step % 2 else torch.full((16,), 1)
        loss = nn.functional.cross_entropy(judge(features(torch.randn(16, 4) + step % 2)), domain)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_one_token_at_a_time() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    tokens = torch.tensor([1, 3, 2, 0]).expand(8, 4)  # the same sentence in each row
    embedding, cell, head = nn.Embedding(4, 6), nn.GRUCell(6, 6), nn.Linear(6, 4)
    opt = torch.optim.SGD([p for m in (embedding, cell, head) for p in m.parameters()], lr=0.1)
    for _ in range(3):
        state, loss = torch.zeros(8, 6), torch.zeros(())
        for t in range(3):
            state = cell(embedding(tokens[:, t]), state)
            loss = loss + nn.functional.cross_entropy(head(state), tokens[:, t + 1])
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_one_batch_again_and_again() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(8, 4), torch.tensor([1] * 8)
    for _ in range(5):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_two_classes_sorted() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    sick = (torch.arange(120) >= 60).float()
    patients = DataLoader(TensorDataset(torch.randn(120, 4), sick), batch_size=10)  # cause: GS745
    judge = nn.Linear(4, 1)
    opt = torch.optim.SGD(judge.parameters(), lr=0.1)
    for _ in range(2):
        for rows, wanted in patients:
            opt.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(judge(rows)[:, 0], wanted)  # effect: GS745
            loss.backward()
            opt.step()


def good_two_classes_mixed() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    ill = (torch.arange(120) >= 60).float()
    mixed = DataLoader(TensorDataset(torch.randn(120, 4), ill), batch_size=10, shuffle=True)
    tester = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
    opt = torch.optim.SGD(tester.parameters(), lr=0.1)
    for _ in range(2):
        for rows, wanted in mixed:
            opt.zero_grad()
            nn.functional.binary_cross_entropy(tester(rows), wanted[:, None]).backward()
            opt.step()


def good_real_and_made_up_in_turn() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    maker, critic = nn.Linear(2, 4), nn.Linear(4, 1)
    of_maker = torch.optim.SGD(maker.parameters(), lr=0.1)
    of_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
    answers = torch.cat([torch.zeros(8, 1), torch.ones(8, 1)])

    def loss_of(scores: torch.Tensor, real: bool) -> torch.Tensor:
        return nn.functional.binary_cross_entropy_with_logits(scores, answers[8:] if real else answers[:8])

    for _ in range(6):
        of_critic.zero_grad()
        loss_of(critic(torch.randn(8, 4)), real=True).backward()
        loss_of(critic(maker(torch.randn(8, 2)).detach()), real=False).backward()
        of_critic.step()
        of_maker.zero_grad()
        loss_of(critic(maker(torch.randn(8, 2))), real=True).backward()
        of_maker.step()


def bad_the_loop_also_goes_through_the_validation() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(3)
    labels = torch.arange(5).repeat_interleave(80)
    inputs = torch.randn(400, 10) + 2 * torch.randn(5, 10)[labels]
    train = DataLoader(TensorDataset(inputs, labels), 20, False)  # cause: GS745
    held = DataLoader(TensorDataset(inputs[::7], labels[::7]), batch_size=20)
    net = nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 5))
    opt = torch.optim.SGD(
        net.parameters(), lr=0.1, momentum=0.9
    )  # with samples in a random order no layer dies

    def go_through(loader: DataLoader[tuple[torch.Tensor, ...]], training: bool) -> int:
        right = 0
        with torch.set_grad_enabled(training):
            for x, y in loader:
                scores = net(x)
                loss = nn.functional.cross_entropy(scores, y)  # effect: GS745
                if training:
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                right += int((scores.argmax(1) == y).sum())
        return right

    for _ in range(4):
        go_through(train, True)
        go_through(held, False)


def bad_one_phase_after_the_other() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    kinds = torch.arange(4).repeat_interleave(30)
    rows = torch.randn(120, 6)
    learned = DataLoader(TensorDataset(rows, kinds), batch_size=10)  # cause: GS745
    checked = DataLoader(TensorDataset(rows[::3], kinds[::3]), batch_size=10)
    net = nn.Linear(6, 4)
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(3):
        for training in (True, False):
            for x, y in learned if training else checked:
                with torch.set_grad_enabled(training):
                    loss = nn.functional.cross_entropy(net(x), y)  # effect: GS745
                if training:
                    opt.zero_grad()
                    loss.backward()
                    opt.step()


def good_a_class_is_a_task() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    labels = torch.arange(4).repeat_interleave(24)
    inputs = torch.randn(96, 5)
    net = nn.Linear(5, 4)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for task in range(4):
        mine = labels == task
        loader = DataLoader(TensorDataset(inputs[mine], labels[mine]), batch_size=8)
        for _ in range(3):
            for x, y in loader:
                loss = nn.functional.cross_entropy(net(x), y)
                opt.zero_grad()
                loss.backward()
                opt.step()


def good_a_class_is_a_task_and_drawn() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Subset, TensorDataset

    torch.manual_seed(0)
    labels = torch.arange(4).repeat_interleave(24)
    data = TensorDataset(torch.randn(96, 5), labels)
    tasks = [Subset(data, range(24 * task, 24 * task + 24)) for task in range(4)]
    loaders = [DataLoader(task, batch_size=8, shuffle=True) for task in tasks]
    net = nn.Linear(5, 4)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for loader in loaders * 2:
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()


def good_a_class_is_a_task_that_is_cut_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    labels = torch.arange(4).repeat_interleave(24)
    inputs = torch.randn(96, 5)
    net = nn.Linear(5, 4)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for task in range(4):
        x, y = inputs[labels == task], labels[labels == task]
        for _ in range(3):
            for i in range(0, 24, 8):
                loss = nn.functional.cross_entropy(net(x[i : i + 8]), y[i : i + 8])
                opt.zero_grad()
                loss.backward()
                opt.step()


def good_a_sampler_gives_batches_of_one_class() -> None:
    import random
    from collections.abc import Iterator

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Sampler, TensorDataset

    class OfOneClass(Sampler[list[int]]):
        def __iter__(self) -> Iterator[list[int]]:
            starts = list(range(0, 96, 8))
            random.Random(1).shuffle(starts)
            yield from (list(range(start, start + 8)) for start in starts)

        def __len__(self) -> int:
            return 12

    torch.manual_seed(0)
    labels = torch.arange(4).repeat_interleave(24)
    loader = DataLoader(TensorDataset(torch.randn(96, 5), labels), batch_sampler=OfOneClass())
    net = nn.Linear(5, 4)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()


def good_gradients_matched_class_by_class() -> None:
    """Samples are learned whose gradients are those of real ones: each class by itself, all in one step."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, learned = nn.Linear(6, 5), torch.randn(5, 6, requires_grad=True)
    opt = torch.optim.SGD([learned], lr=0.1)
    for _ in range(4):
        total = torch.zeros(())
        for label in range(5):
            real, given = torch.randn(8, 6), torch.tensor([label] * 8)
            loss_real = nn.functional.cross_entropy(net(real), given)
            wanted = torch.autograd.grad(loss_real, list(net.parameters()))
            loss_own = nn.functional.cross_entropy(net(learned[label : label + 1]), given[:1])
            own = torch.autograd.grad(loss_own, list(net.parameters()), create_graph=True)
            total = total + sum((a - b).pow(2).sum() for a, b in zip(own, wanted, strict=True))
        opt.zero_grad()
        total.backward()
        opt.step()


def bad_one_hot_rows_as_they_lie() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    shapes = torch.cat([torch.randn(48, 8) + 1.5 * torch.eye(8)[kind] for kind in range(4)])
    wanted = nn.functional.one_hot(torch.arange(4).repeat_interleave(48), 4).float()
    net = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 4))
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for start in range(0, len(shapes), 16):
        x, y = shapes[start : start + 16], wanted[start : start + 16]  # cause: GS745
        loss = nn.functional.binary_cross_entropy_with_logits(net(x), y)  # effect: GS745
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_squared_errors_of_one_hot_rows() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, kinds = torch.randn(96, 8), torch.arange(3).repeat_interleave(32)
    net = nn.Linear(8, 3)
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(2):
        for a, b in zip(x.split(8), kinds.split(8), strict=True):  # cause: GS745
            wanted = nn.functional.one_hot(b, 3).float()
            opt.zero_grad()
            nn.functional.mse_loss(net(a), wanted).backward()  # effect: GS745
            opt.step()


def good_one_hot_rows_in_a_random_order() -> None:
    """And rows of several ones, and of numbers."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(96, 8)
    wanted = nn.functional.one_hot(torch.arange(4).repeat_interleave(24), 4).float()
    several = (torch.randn(96, 4) > 0).float()
    net, other = nn.Linear(8, 4), nn.Linear(8, 4)
    opt = torch.optim.SGD([*net.parameters(), *other.parameters()], lr=0.05)
    order = torch.randperm(96)
    for start in range(0, 96, 8):
        rows = order[start : start + 8]
        loss = nn.functional.binary_cross_entropy_with_logits(net(x[rows]), wanted[rows])
        loss = loss + nn.functional.binary_cross_entropy_with_logits(
            other(x[start : start + 8]), several[start : start + 8]
        )
        opt.zero_grad()
        loss.backward()
        opt.step()
