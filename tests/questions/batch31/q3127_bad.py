import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(0)
clamp_lower, clamp_upper, n_critic = -0.02, 0.02, 5


def real_batch(n):
    k = torch.randint(4, (n,))
    centre = torch.tensor([[1., 1.], [1., -1.], [-1., 1.], [-1., -1.]])[k]
    return centre + 0.1 * torch.randn(n, 2)


netG = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
netD = nn.Sequential(nn.Linear(2, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
for m in netD:
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, 0.0, 0.02)
optimizerD = torch.optim.RMSprop(netD.parameters(), lr=1e-3)
optimizerG = torch.optim.RMSprop(netG.parameters(), lr=1e-3)
one = torch.tensor(1.0)
mone = -1 * one

for gen_iterations in range(1, 401):
    for p in netD.parameters():
        p.requires_grad = True
    for j in range(n_critic):
        netD.zero_grad()
        errD_real = netD(real_batch(64)).mean()
        errD_real.backward(one)
        with torch.no_grad():
            fake = netG(torch.randn(64, 8))
        errD_fake = netD(fake).mean()
        errD_fake.backward(mone)
        errD = errD_real - errD_fake
        for p in netD.parameters():
            p.data.clamp_(clamp_lower, clamp_upper)
        optimizerD.step()

    for p in netD.parameters():
        p.requires_grad = False
    netG.zero_grad()
    errG = netD(netG(torch.randn(64, 8))).mean()
    errG.backward(one)
    optimizerG.step()
    if gen_iterations % 100 == 0:
        w = max(p.abs().max().item() for p in netD.parameters())
        print(f"[{gen_iterations}/400] Loss_D: {errD.item():.6f} Loss_G: {errG.item():.6f} largest weight of D: {w:.4f}")
