"""More programs of GS783: each bad one is reported at its marks, each good one by no rule."""


def bad_tensor_written_in_place() -> None:  # fix: by hand
    """The world hands out one tensor and moves on by writing to it."""
    import random

    import torch
    from torch import nn

    torch.manual_seed(0)
    net, state = nn.Linear(3, 1), torch.zeros(3)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    memory = []
    for _ in range(24):
        state.add_(torch.randn(3))
        memory.append(state)  # cause: GS783
        batch = torch.stack([random.choice(memory) for _ in range(16)])  # effect: GS783
        opt.zero_grad()
        (net(batch) - 1).pow(2).mean().backward()
        opt.step()


def good_drawn_with_replacement() -> None:
    """At first the memory is small, so that most of a batch is there several times."""
    import random

    import torch
    from torch import nn

    torch.manual_seed(0)
    net, memory = nn.Linear(3, 1), []
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(24):
        memory.append(torch.randn(3))
        batch = torch.stack([random.choice(memory) for _ in range(64)])
        opt.zero_grad()
        (net(batch) - 1).pow(2).mean().backward()
        opt.step()


def good_one_sample_many_times() -> None:
    """Each batch is one sample with other noise, as augmentation has it; and all samples so far are kept."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, samples = nn.Linear(3, 1), []
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(20):
        sample = torch.randn(3)
        samples.append(sample)
        batch = torch.stack([sample] * 16) + 0.1 * torch.randn(16, 3)
        opt.zero_grad()
        (net(batch) - 1).pow(2).mean().backward()
        opt.step()


def good_prompts_in_groups() -> None:
    """Each prompt is answered eight times; the same prompt is handed out again and again."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, prompt, handed_out = nn.Linear(3, 2), torch.randn(3), []
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(20):
        handed_out.append(prompt)
        logs = net(torch.stack([prompt for _ in range(8)])).log_softmax(-1)
        answers = torch.distributions.Categorical(logits=logs.detach()).sample()
        gains = torch.rand(8)
        chosen = logs.gather(1, answers[:, None]).squeeze(1)
        opt.zero_grad()
        (-chosen * (gains - gains.mean())).mean().backward()
        opt.step()


def good_window_that_moves() -> None:
    """Each entry is the window itself at its time, not what it is now: it is copied."""
    import random

    import torch
    from torch import nn

    torch.manual_seed(0)
    net, window, windows = nn.Linear(3, 1), [], []
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(20):
        window.append(torch.randn(3))
        window[:] = window[-4:]
        windows.append(list(window))
        batch = torch.stack([state for _ in range(16) for state in random.choice(windows)])
        opt.zero_grad()
        (net(batch) - 1).pow(2).mean().backward()
        opt.step()


def good_token_in_front_of_each() -> None:
    """A learned token stands at places whose number differs from step to step."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, token = nn.Linear(3, 1), nn.Parameter(torch.randn(3))
    opt = torch.optim.SGD([*net.parameters(), token], lr=0.01)
    for step in range(12):
        tokens = []
        for _ in range(8 + step):
            tokens.append(token)
        batch = torch.stack(tuple(tokens)) + torch.randn(8 + step, 3)
        opt.zero_grad()
        (net(batch) - 1).pow(2).mean().backward()
        opt.step()


def bad_lists_made_by_multiplying() -> None:
    """q2913: the parts of the losses of three heads are all in one list, and so is what they sum up to."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    heads = nn.ModuleList(nn.Linear(3, 2) for _ in range(3))
    opt = torch.optim.SGD(heads.parameters(), lr=0.01)
    names = ["all", "one", "other"]
    for _ in range(6):
        parts = [[]] * len(names)  # type: ignore[var-annotated]  # cause: GS783
        for head in heads:
            one, other = head(torch.randn(8, 3)).pow(2).mean(0)
            for place, value in enumerate((one + other, one, other)):
                parts[place].append(value)
        sums = [sum(held) for held in parts]  # effect: GS783
        opt.zero_grad()
        sums[0].backward()
        opt.step()


def good_lists_of_their_own() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    heads = nn.ModuleList(nn.Linear(3, 2) for _ in range(3))
    opt = torch.optim.SGD(heads.parameters(), lr=0.01)
    names = ["all", "one", "other"]
    for _ in range(6):
        parts = [[] for _ in names]  # type: ignore[var-annotated]
        for head in heads:
            one, other = head(torch.randn(8, 3)).pow(2).mean(0)
            for place, value in enumerate((one + other, one, other)):
                parts[place].append(value)
        sums = [sum(held) for held in parts]
        opt.zero_grad()
        sums[0].backward()
        opt.step()


def good_places_that_are_filled_anew() -> None:
    """One empty list stands at all places at first; nothing is put into it."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(6):
        parts = [[]] * 3  # type: ignore[var-annotated]
        for place in range(3):
            loss = model(torch.randn(8, 3)).pow(2).mean()
            parts[place] = [loss, loss * 0.5]
        sums = [sum(held) for held in parts]
        opt.zero_grad()
        sum(sums).backward()  # type: ignore[union-attr]
        opt.step()


def bad_tuples_with_the_state_itself() -> None:  # fix: by hand
    import random
    from collections import deque

    import torch
    from torch import nn

    torch.manual_seed(0)
    random.seed(0)
    critic, place = nn.Linear(2, 2), torch.tensor([0.5, 0.0])
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    replay = deque(maxlen=200)  # type: ignore[var-annotated]
    for _ in range(60):
        push = random.choice([0, 1])
        place[1] += 0.1 * (2 * push - 1)
        place[0] += 0.1 * place[1]
        replay.append((place, push))  # cause: GS783
        if len(replay) < 16:
            continue
        places, pushes = zip(*random.sample(replay, 16), strict=True)
        value = critic(torch.stack(places)).gather(1, torch.tensor(pushes).unsqueeze(1))  # effect: GS783
        opt.zero_grad()
        (value + 1).pow(2).mean().backward()
        opt.step()


def good_tuples_with_a_copy_and_one_goal() -> None:
    import random

    import torch
    from torch import nn

    torch.manual_seed(0)
    random.seed(0)
    critic, place, goal = nn.Linear(4, 2), torch.tensor([0.5, 0.0]), torch.tensor([1.0, 1.0])
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    replay = []
    for _ in range(60):
        push = random.choice([0, 1])
        place[1] += 0.1 * (2 * push - 1)
        replay.append({"place": place.clone(), "goal": goal, "push": push})
        if len(replay) < 16:
            continue
        drawn = random.sample(replay, 16)
        places, goals = (torch.stack([one[name] for one in drawn]) for name in ("place", "goal"))
        value = critic(torch.cat([places, goals], 1)).gather(
            1, torch.tensor([[one["push"]] for one in drawn])
        )
        opt.zero_grad()
        (value + 1).pow(2).mean().backward()
        opt.step()
