import torch
import torch.nn as nn
import torch.nn.functional as F


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8.0):
        super().__init__()
        self.base = base
        self.lora_A = nn.Linear(base.in_features, rank, bias=False)
        self.lora_B = nn.Linear(rank, base.out_features, bias=False)
        nn.init.zeros_(self.lora_B.weight)
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scale * self.lora_B(self.lora_A(x))


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim, elementwise_affine=False)
        self.modulation = nn.ModuleDict({"shift": nn.Linear(dim, dim), "scale": nn.Linear(dim, dim)})
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def init_weights(self):
        for module in self.mlp:
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.1)
                nn.init.zeros_(module.bias)
        for p in self.modulation.parameters():
            nn.init.zeros_(p)

    def forward(self, x, cond):
        h = self.norm(x) * (1 + self.modulation["scale"](cond)) + self.modulation["shift"](cond)
        return x + self.mlp(h)


class Denoiser(nn.Module):
    def __init__(self, features=8, dim=32, depth=2):
        super().__init__()
        self.inp, self.out = nn.Linear(features, dim), nn.Linear(dim, features)
        self.time = nn.Sequential(nn.Linear(1, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))

    def init_weights(self):
        for block in self.blocks:
            block.init_weights()

    def forward(self, x, t):
        cond = self.time(t)
        h = self.inp(x)
        for block in self.blocks:
            h = block(h, cond)
        return self.out(h)


def add_lora(model):
    for p in model.parameters():
        p.requires_grad_(False)
    for block in model.blocks:
        for name, layer in block.modulation.items():
            block.modulation[name] = LoRALinear(layer)


def load_base(model, state):
    state = {(k if k in model.state_dict() else k.replace(".weight", ".base.weight").replace(".bias", ".base.bias")): v for k, v in state.items()}
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected and all("lora" in name for name in missing)


def flow_loss(model, mean, generator, n=128):
    x1 = mean + 0.5 * torch.randn(n, 8, generator=generator)
    x0 = torch.randn(n, 8, generator=generator)
    t = torch.rand(n, 1, generator=generator)
    return F.mse_loss(model((1 - t) * x0 + t * x1, t), x1 - x0)


def train(model, mean, steps, name):
    generator = torch.Generator().manual_seed(1)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=3e-3)
    window = []
    for step in range(steps):
        loss = flow_loss(model, mean, generator)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        window.append(loss.item())
        if step % 100 == 99:
            print(f"{name} {step + 1}: loss {sum(window) / len(window):.4f}")
            window.clear()


def main():
    torch.manual_seed(0)
    pretrained = Denoiser()
    pretrained.init_weights()
    train(pretrained, torch.full((8,), 1.0), 300, "base")
    model = Denoiser()
    add_lora(model)
    model.init_weights()
    load_base(model, pretrained.state_dict())
    train(model, torch.tensor([-2.0, 2.0] * 4), 400, "finetune")


if __name__ == "__main__":
    main()
