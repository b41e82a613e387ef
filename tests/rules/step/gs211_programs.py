"""More programs of GS211: each bad one is reported at its marks, each good one by no rule."""


def bad_loss_not_scaled() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.backward()  # cause: GS211
        scaler.scale(loss)
        scaler.step(opt)  # effect: GS211
        scaler.update()


def bad_no_update() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 3)).pow(2).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)  # cause: GS211  # effect: GS211


def bad_never_scaled() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    loss = model(torch.randn(8, 4)).pow(2).mean()
    loss.backward()  # cause: GS211
    scaler.step(opt)  # effect: GS211


def bad_clipped_and_never_updated() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    for _ in range(2):
        opt.zero_grad()
        scaler.scale(model(torch.randn(8, 4)).pow(2).mean()).backward()
        scaler.unscale_(opt)  # effect: GS211
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(opt)  # cause: GS211


def bad_no_update_where_the_step_is_left_out() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    for step in range(6):
        opt.zero_grad()
        loss = model(torch.randn(8, 4) * (1e4 if step == 3 else 1)).pow(2).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(opt)  # effect: GS211
        total = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if total < 100:
            scaler.step(opt)
            scaler.update()  # cause: GS211


def bad_stepped_twice() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    for _ in range(4):
        opt.zero_grad()
        scaler.scale(model(torch.randn(8, 4)).pow(2).mean()).backward()
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(opt)  # effect: GS211
        scaler.update()
        opt.step()  # cause: GS211


def bad_critic_stepped_again_after_the_generators_pass() -> None:
    import torch
    from torch import nn

    made, critic = nn.Linear(2, 4), nn.Linear(4, 1)
    first = torch.optim.SGD(made.parameters(), lr=0.01)
    second = torch.optim.SGD(critic.parameters(), lr=1e-5)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
    for _ in range(4):
        fake = made(torch.randn(8, 2))
        second.zero_grad()
        scaler.scale((critic(fake.detach()) - critic(torch.randn(8, 4))).pow(2).mean()).backward()
        scaler.step(second)  # effect: GS211
        first.zero_grad()
        scaler.scale((critic(fake) - 1).pow(2).mean()).backward()
        scaler.step(first)
        scaler.update()
        second.step()  # cause: GS211


def good_two_batches_with_a_scaler_and_one_without() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    for step in range(9):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        if step % 3 < 2:
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
        else:
            loss.backward()
            opt.step()


def good_accumulation() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cpu")
    for i in range(6):
        loss = model(torch.randn(8, 3)).pow(2).mean()
        scaled = scaler.scale(loss) / 2
        scaled.backward()
        if i % 2:
            scaler.step(opt)
            scaler.update()
            opt.zero_grad()


def good_unscaled_by_hand() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    for _ in range(3):
        opt.zero_grad()
        scaler.scale(model(torch.randn(8, 3)).pow(2).mean()).backward()
        scaler.unscale_(opt)
        opt.step()
        scaler.update()


def good_disabled() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    for _ in range(3):
        opt.zero_grad()
        scaler.scale(model(torch.randn(8, 3)).pow(2).mean()).backward()
        opt.step()


def good_two_optimizers() -> None:
    import torch
    from torch import nn

    model, plain = nn.Linear(3, 1), nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    other = torch.optim.SGD(plain.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    for _ in range(3):
        opt.zero_grad()
        other.zero_grad()
        scaler.scale(model(torch.randn(8, 3)).pow(2).mean()).backward()
        plain(torch.randn(8, 3)).pow(2).mean().backward()
        scaler.step(opt)
        scaler.update()
        other.step()


def good_no_step_in_some_rounds() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    for step in range(6):
        opt.zero_grad()
        loss = model(torch.randn(8, 4) * (1e4 if step == 3 else 1)).pow(2).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        total = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if total < 100:
            scaler.step(opt)
        scaler.update()


def bad_own_step_before_the_update() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(5, 1)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for _ in range(3):
        x = torch.randn(64, 5)
        opt.zero_grad()
        for part in x.chunk(2):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = nn.functional.l1_loss(model(part), part.prod(1, keepdim=True)) / 2
            scaler.scale(loss).backward()  # cause: GS211
        opt.step()  # effect: GS211
        scaler.update()
