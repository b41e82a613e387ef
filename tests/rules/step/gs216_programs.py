"""More programs of GS216: each bad one is reported at its marks, each good one by no rule."""


def bad_with_scaler() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=128.0)
    for i in range(12):
        loss = nn.functional.mse_loss(model(torch.randn(8, 3)), torch.zeros(8, 1))
        scaler.scale(loss).backward()  # cause: GS216
        if i % 4 == 3:
            scaler.step(opt)  # effect: GS216
            scaler.update()
            opt.zero_grad()


def bad_another_number_in_each_training() -> None:  # fix: by hand
    import torch
    from torch import nn

    def train(every: int) -> None:
        torch.manual_seed(0)
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=2.0)
        for i in range(24):
            loss = nn.functional.mse_loss(model(torch.randn(8, 3)), torch.zeros(8, 1))
            loss.backward()  # cause: GS216
            if (i + 1) % every == 0:
                opt.step()  # effect: GS216
                opt.zero_grad()

    for every in (2, 4, 8):
        train(every)


def bad_sum_of_terms() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 3)
    opt = torch.optim.SGD(model.parameters(), lr=5.0)
    for i in range(6):
        x = torch.randn(4, 3)
        out = model(x)
        loss = nn.functional.mse_loss(out, x) + 0.1 * (out - x).abs().mean()
        loss.backward()  # cause: GS216
        if i % 2:
            opt.step()  # effect: GS216
            opt.zero_grad()


def bad_while_the_loss_falls() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(32, 3), torch.randn(32, 1) + 3
    for _ in range(4):
        for rows in range(0, 32, 8):
            loss = nn.functional.mse_loss(model(x[rows : rows + 8]), y[rows : rows + 8])
            loss.backward()  # cause: GS216
        opt.step()  # effect: GS216
        opt.zero_grad()


def good_each_gradient_is_divided_by_its_size() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.Adam(model.parameters(), lr=0.1)
    for i in range(8):
        nn.functional.mse_loss(model(torch.randn(8, 3)), torch.zeros(8, 1)).backward()
        if i % 4 == 3:
            opt.step()
            opt.zero_grad()


def good_scaled_sum_of_terms() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(6):
        x = torch.randn(4, 3)
        out = model(x)
        loss = nn.functional.mse_loss(out, x) / 2 + 0.1 * (out - x).abs().mean() / 2
        loss.backward()
        if i % 2:
            opt.step()
            opt.zero_grad()


def good_many_equal_steps() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(30):
        opt.zero_grad()
        nn.functional.mse_loss(model(torch.randn(8, 3)), torch.zeros(8, 1)).backward()
        opt.step()


def good_sums() -> None:
    import torch
    from torch import nn

    model, loss_of = nn.Linear(3, 1), nn.MSELoss(reduction="sum")
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for i in range(8):
        loss_of(model(torch.randn(8, 3)), torch.zeros(8, 1)).backward()
        if i % 4 == 3:
            opt.step()
            opt.zero_grad()


def good_different_losses() -> None:
    import torch
    from torch import nn

    model, left, right = nn.Linear(3, 3), nn.Linear(3, 1), nn.Linear(3, 1)
    opt = torch.optim.SGD([*model.parameters(), *left.parameters(), *right.parameters()], lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        for head in (left, right):
            head(model(torch.randn(8, 3))).pow(2).mean().backward()
        opt.step()


def bad_step_is_given_a_closure_that_does_nothing() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=1)
    for i in range(8):
        loss = nn.functional.mse_loss(model(torch.randn(8, 3)), torch.zeros(8, 1))
        loss.backward()  # cause: GS216
        if i % 4 == 3:
            opt.step(closure=lambda: 0.0)  # effect: GS216
            opt.zero_grad()


def good_closure_called_again_within_the_step() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)
    x, y = torch.randn(8, 3), torch.zeros(8, 1)

    def closure() -> torch.Tensor:
        opt.zero_grad()
        for half in (slice(0, 4), slice(4, 8)):
            loss = nn.functional.mse_loss(model(x[half]), y[half]) / 2
            loss.backward()
        return loss

    for _ in range(3):
        opt.step(closure)


def bad_beside_a_loss_that_is_scaled() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy, value = nn.Linear(3, 1), nn.Linear(3, 1)
    policy_opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    value_opt = torch.optim.SGD(value.parameters(), lr=0.01)
    x, y = torch.randn(32, 3), torch.randn(32, 1)
    ratio = 8 / 32
    for _ in range(4):
        policy_opt.zero_grad()
        value_opt.zero_grad()
        for start in range(0, 32, 8):
            part = slice(start, start + 8)
            policy_loss = (policy(x[part]) - y[part]).abs().mean() * ratio
            value_loss = nn.functional.mse_loss(value(x[part]), y[part])
            policy_loss.backward()
            value_loss.backward()  # cause: GS216
        policy_opt.step()
        value_opt.step()  # effect: GS216


def bad_clip_before_a_step_of_any_scale() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.AdamW(model.parameters(), lr=0.05)
    x = torch.randn(8, 3)
    for _ in range(12):
        for _ in range(4):
            nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()  # cause: GS216
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()  # effect: GS216
        opt.zero_grad()


def bad_a_likelihood_written_out() -> None:  # fix: by hand
    import torch
    from torch import nn

    def nll(logp: torch.Tensor, gold: torch.Tensor) -> torch.Tensor:
        return -logp.gather(-1, gold.unsqueeze(-1)).mean()

    torch.manual_seed(0)
    words = torch.randint(0, 20, (96, 4))
    tagger = nn.Sequential(nn.Embedding(20, 6), nn.Linear(6, 5), nn.LogSoftmax(-1))
    opt = torch.optim.SGD(tagger.parameters(), lr=0.5, momentum=0.9)
    for block in words.split(24):
        opt.zero_grad()
        for micro in block.split(8):
            nll(tagger(micro), micro % 5).backward()  # cause: GS216
        opt.step()  # effect: GS216


def good_a_likelihood_with_its_share() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words = torch.randint(0, 20, (96, 4))
    tagger = nn.Sequential(nn.Embedding(20, 6), nn.Linear(6, 5), nn.LogSoftmax(-1))
    opt = torch.optim.SGD(tagger.parameters(), lr=0.5, momentum=0.9)
    for block in words.split(24):
        opt.zero_grad()
        for micro in block.split(8):
            logp = tagger(micro).gather(-1, (micro % 5).unsqueeze(-1))
            torch.mul(-logp.mean(), micro.numel() / block.numel()).backward()
        opt.step()
